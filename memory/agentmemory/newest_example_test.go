package agentmemory_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/state"
)

// A node gives its model the newest facts, whatever the user writes about.
func ExampleFormatFacts() {
	ctx, ann := context.Background(), memory.Scope{User: "ann"}
	facts, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := facts.Store(ctx, ann, memory.Fact{Content: "Ann prefers trains", Trust: memory.Stated}); err != nil {
		panic(err)
	}
	model := llmtest.NewScript(llmtest.Say("Take the night train."))

	b := graph.New("planner", agent.Messages)
	b.Node("plan", func(ctx context.Context, s state.View) (state.Update, error) {
		newest, err := facts.Recall(ctx, memory.Question{Reach: ann.Only(), MaxTokens: 1000}) // without Text
		if err != nil {
			return nil, err
		}
		messages := agent.Messages.Get(s)
		if len(newest) > 0 {
			messages = append([]llm.Message{llm.System(agentmemory.FormatFacts(newest))}, messages...)
		}
		reply, err := agent.Ask(ctx, model, llm.Request{Messages: messages})
		if err != nil {
			return nil, err
		}
		return state.Update{agent.Messages.Put(reply)}, nil
	})
	b.Edge(graph.Start, "plan")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := g.Invoke(ctx, agent.Messages.Put(llm.User("Plan a weekend in Vienna."))); err != nil {
		panic(err)
	}
	told := model.Requests()[0].Messages[0].Text()
	fmt.Println("told:", strings.Contains(told, "Ann prefers trains"))
	// Output: told: true
}
