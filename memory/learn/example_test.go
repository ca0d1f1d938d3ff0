package learn_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/learn"
)

func Example() {
	ctx := context.Background()
	m, err := memory.New(memory.NewInMemory(memory.InMemoryOptions{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	if _, err := m.Store(ctx, ann, memory.Fact{Content: "Ann lives in Athens", Trust: memory.Stated}); err != nil {
		panic(err)
	}
	model := llmtest.NewScript( // or any llm.Model
		llmtest.Call("answer", `{"facts":[{"kind":"fact","content":"Ann lives in Oslo","evidence":"I moved to Oslo"}]}`),
		llmtest.Call("answer", `{"decisions":[{"new":1,"action":"replace","known":[1]}]}`),
	)
	learner, err := learn.New(m, learn.Options{
		Extractor: learn.NewExtractor(model, learn.ExtractorOptions{}),
		Decider:   learn.NewDecider(model),
	})
	if err != nil {
		panic(err)
	}
	// A service calls go learner.Work(ctx) when it starts.
	err = learner.Learn(ctx, learn.Turn{Key: "thread-7/1", Scope: ann, User: "By the way, I moved to Oslo.", Assistant: "Congratulations!"})
	if err != nil {
		panic(err)
	}
	if err := learner.Drain(ctx); err != nil { // and this before it ends
		panic(err)
	}
	for f, err := range m.List(ctx, memory.Query{Scope: ann, Closed: true}) {
		fmt.Println(f.Content, f.ValidTo.IsZero(), err)
	}
	// Output:
	// Ann lives in Oslo true <nil>
	// Ann lives in Athens false <nil>
}
