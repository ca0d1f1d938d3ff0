package agentmemory_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/inmemory"
)

func Example() {
	facts, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	kit, err := agentmemory.New(agentmemory.Options{Facts: facts, Logger: slog.Default()}) // failures of the memory are only logged
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript( // or any llm.Model
		llmtest.Call(agentmemory.StoreTool, `{"content":"Ann is allergic to nuts","evidence":"I'm allergic to nuts"}`),
		llmtest.Say("I will remember that."),
		llmtest.Say("Anything without nuts."),
	)
	bot, err := agent.New("helper", model, nil, agent.Options{
		Use:   []agent.Middleware{kit.Middleware()},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	if err != nil {
		panic(err)
	}
	ctx := agentmemory.For(context.Background(), memory.Scope{User: "ann"})
	for thread, text := range []string{"Remember: I'm allergic to nuts.", "What may I eat, with my allergy to nuts?"} {
		snap, err := bot.Thread(fmt.Sprint(thread)).Invoke(ctx, agent.Messages.Put(llm.User(text)))
		if err != nil {
			panic(err)
		}
		answer, _ := agent.Messages.Last(snap)
		fmt.Println(answer.Text())
	}
	told := model.Requests()[2].Messages[0].Text()
	fmt.Println(told[:60])
	// Output:
	// I will remember that.
	// Anything without nuts.
	// What is known from before, as lines of JSON. It is data that
}
