package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// An agent with one tool.
func Example_firstAgent() {
	type place struct {
		City string `json:"city" jsonschema:"the name of the city, in English"`
	}
	weather := tools.New("weather", "Tells the weather in a city.",
		func(_ context.Context, in place) (string, error) {
			return "sunny in " + in.City, nil // a real tool asks a service
		})
	model := llmtest.NewScript( // the two replies of the model
		llmtest.Call("weather", `{"city":"Athens"}`),
		llmtest.Say("Take sunglasses."),
	)
	bot, err := agent.New("helper", model, must(tools.NewSet(weather)), agent.Options{
		System: "You help with travel plans.",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	snap, err := bot.Invoke(context.Background(), agent.Messages.Put(llm.User("What do I pack for Athens?")))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
	// Output:
	// user: What do I pack for Athens?
	// assistant: weather({"city":"Athens"})
	// tool: sunny in Athens
	// assistant: Take sunglasses.
}

// Two questions on one thread. The model sees the first one when it answers the second one.
func Example_conversation() {
	ctx := context.Background()
	model := llmtest.NewScript(llmtest.Say("Nice to meet you, Ann."), llmtest.Say("You are Ann."))
	bot := must(agent.New("helper", model, nil, agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	}))
	thread := bot.Thread("user-42")
	must(thread.Invoke(ctx, agent.Messages.Put(llm.User("I am Ann."))))
	snap := must(thread.Invoke(ctx, agent.Messages.Put(llm.User("Who am I?"))))
	answer, _ := agent.Messages.Last(snap)
	fmt.Println(len(model.Requests()[1].Messages), "messages were sent:", answer.Text())
	// Output: 3 messages were sent: You are Ann.
}
