package memory_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/memory/driver"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

// After a change of the embedding model, or of the length of its vectors, Reembed is called
// for the scopes of all tenants. If it is stopped, finished work is kept.
func ExampleMemory_Reembed() {
	ctx := context.Background()
	store := inmemory.NewFacts(inmemory.Options{})
	embedder := llmtest.Embedder{Size: 32} // or any other embedder
	before, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{Embedder: embedder})
	if err != nil {
		panic(err)
	}
	for _, tenant := range []string{"acme", "other"} {
		_, err := before.Store(ctx, memory.Scope{Tenant: tenant, User: "ann"}, memory.Fact{Content: "Drinks tea", Trust: memory.Stated}, memory.Fact{Content: "Plays chess", Trust: memory.Stated})
		if err != nil {
			panic(err)
		}
	}

	embedder.Size = 64 // the same model, with other vectors
	after, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{Embedder: embedder})
	if err != nil {
		panic(err)
	}
	total := 0
	for scope, err := range after.Scopes(ctx) {
		if err != nil {
			panic(err)
		}
		n, err := after.Reembed(ctx, memory.FactQuery{Reach: scope.Only()})
		if err != nil {
			panic(err)
		}
		total += n
	}
	fmt.Println(total, "facts")
	// Output:
	// 4 facts
}
