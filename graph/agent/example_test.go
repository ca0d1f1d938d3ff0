package agent_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// The agent calls a tool, and then answers the user.
func ExampleNew() {
	type question struct {
		City string `json:"city"`
	}
	weather := tools.New("weather", "Tells the weather in a city.", func(_ context.Context, q question) (string, error) {
		return "sunny in " + q.City, nil
	})
	set, err := tools.NewSet(weather)
	if err != nil {
		fmt.Println(err)
		return
	}
	model := llmtest.NewScript(
		llmtest.Call("weather", `{"city":"Athens"}`),
		llmtest.Say("Take sunglasses."),
	)
	a, err := agent.New("helper", model, set, agent.Options{System: "You help with travel plans."})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range a.Stream(context.Background(), agent.Messages.Put(llm.User("What do I pack for Athens?"))) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case graph.TaskFinished:
			if ev.At().Node == agent.ToolsNode {
				fmt.Println("a tool answered")
			}
		case graph.RunEnded:
			answer, _ := agent.Messages.Last(ev.Snapshot)
			fmt.Println(answer.Text())
		}
	}
	// Output:
	// a tool answered
	// Take sunglasses.
}
