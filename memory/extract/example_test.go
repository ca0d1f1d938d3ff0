package extract_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

func Example() {
	ctx := context.Background()
	m, err := memory.New(memory.NewInMemory(memory.InMemoryOptions{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	if _, err := m.Store(ctx, ann, memory.Fact{Content: "Ann lives in Athens"}); err != nil {
		panic(err)
	}
	model := llmtest.NewScript( // or any llm.Model
		llmtest.Call("answer", `{"facts":[{"kind":"fact","content":"Ann lives in Oslo","evidence":"I moved to Oslo"}]}`),
		llmtest.Call("answer", `{"decisions":[{"new":1,"action":"replace","known":[1]}]}`),
	)
	learner, err := extract.New(m, extract.Options{
		Extractor: extract.NewExtractor(model, extract.ExtractorOptions{}),
		Decider:   extract.NewDecider(model),
	})
	if err != nil {
		panic(err)
	}
	// A service calls go learner.Work(ctx) when it starts.
	err = learner.Learn(ctx, extract.Turn{Key: "thread-7/1", Scope: ann, User: "By the way, I moved to Oslo.", Assistant: "Congratulations!"})
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
