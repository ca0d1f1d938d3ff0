package extract_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
)

func Example() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	model := llmtest.NewScript( // or any llm.Model
		llmtest.Call("answer", `{"facts":[{"kind":"fact","content":"Ann lives in Oslo","evidence":"I moved to Oslo"}]}`),
	)
	learner, err := extract.New(m, extract.Options{Extractor: extract.NewExtractor(model, extract.ExtractorOptions{}), Logger: slog.Default()})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	// A service calls go learner.Work(ctx) when it starts.
	err = learner.Learn(ctx, extract.Turn{Key: "thread-7/1", Scope: ann, User: "By the way, I moved to Oslo.", Assistant: "Congratulations!"})
	if err != nil {
		panic(err)
	}
	if err := learner.Drain(ctx); err != nil { // on shutdown
		panic(err)
	}
	// The fact is not verified, so only a query with Untrusted finds it.
	for f, err := range m.List(ctx, memory.FactQuery{Reach: ann.Only(), Untrusted: true}) {
		if err != nil {
			panic(err)
		}
		quote, _ := extract.Evidence(f)
		fmt.Printf("%s, since the user said %q\n", f.Content, quote.Text)
	}
	// Output:
	// Ann lives in Oslo, since the user said "I moved to Oslo"
}

func ExampleNewVerifier() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	ann := memory.Scope{User: "ann"}
	if _, err := m.Store(ctx, ann, memory.Fact{Content: "Ann lives in Athens", Trust: memory.Stated}); err != nil {
		panic(err)
	}
	model := llmtest.NewScript( // or any llm.Model
		llmtest.Call("answer", `{"facts":[
			{"kind":"fact","content":"Ann lives in Oslo","evidence":"I moved to Oslo"},
			{"kind":"preference","content":"Ann eats fish","evidence":"eat fish"}]}`),
		llmtest.Call("answer", `{"verdicts":[
			{"number":1,"doubt":"none","supported":true},
			{"number":2,"doubt":"negation","supported":false}]}`),
		llmtest.Call("answer", `{"decisions":[{"new":1,"action":"replace","known":[1]}]}`),
	)
	learner, err := extract.New(m, extract.Options{
		Extractor: extract.NewExtractor(model, extract.ExtractorOptions{}),
		Verifier:  extract.NewVerifier(model), // may be another model
		Decider:   extract.NewDecider(model),
		Logger:    slog.Default(), // failures are only logged
	})
	if err != nil {
		panic(err)
	}
	err = learner.Learn(ctx, extract.Turn{Key: "thread-7/1", Scope: ann, User: "I moved to Oslo, but I don't eat fish."})
	if err != nil {
		panic(err)
	}
	if err := learner.Drain(ctx); err != nil {
		panic(err)
	}
	for f, err := range m.List(ctx, memory.FactQuery{Reach: ann.Only(), Closed: true}) {
		fmt.Println(f.Content, f.ValidTo.IsZero(), err)
	}
	fmt.Println("refused:", learner.Stats().Dropped[extract.Refused])
	// Output:
	// Ann lives in Oslo true <nil>
	// Ann lives in Athens false <nil>
	// refused: 1
}
