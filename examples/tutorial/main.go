// Tutorial is the program of docs/tutorials/first-agent.md: an agent with one tool.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// Place is the argument of the tool. The model sees its JSON schema.
type Place struct {
	City string `json:"city" jsonschema:"the name of the city, in English"`
}

func weather(_ context.Context, in Place) (string, error) {
	return "sunny in " + in.City, nil // a real tool asks a service
}

func newAgent(model llm.Model) (*graph.Graph, error) {
	set, err := tools.NewSet(tools.New("weather", "Tells the weather in a city.", weather))
	if err != nil {
		return nil, err
	}
	return agent.New("helper", model, set, agent.Options{System: "You help with travel plans."})
}

func main() {
	model := llmtest.NewScript( // the two replies of the model
		llmtest.Call("weather", `{"city":"Athens"}`),
		llmtest.Say("Take sunglasses."),
	)
	bot, err := newAgent(model)
	if err != nil {
		log.Fatal(err)
	}
	snap, err := bot.Invoke(context.Background(), agent.Messages.Put(llm.User("What do I pack for Athens?")))
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range agent.Messages.All(snap) {
		fmt.Println(m)
	}
}
