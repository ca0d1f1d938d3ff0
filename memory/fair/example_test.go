package fair_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/fair"
	"github.com/weft-go/weft/memory/kv"
)

// One gate stands before all that is kept in a database.
func Example() {
	ctx := context.Background()
	gate, err := fair.New(fair.Options{Concurrent: 8, PerTenant: 1, Share: 0.2})
	if err != nil {
		panic(err)
	}
	facts, err := memory.New(gate.Facts(memory.NewInMemory(memory.InMemoryOptions{})), memory.Options{})
	if err != nil {
		panic(err)
	}
	values, err := kv.New(gate.Values(kv.NewInMemory(kv.InMemoryOptions{})), kv.Options{})
	if err != nil {
		panic(err)
	}
	acme := memory.Scope{Tenant: "acme"}
	if _, err := facts.Store(ctx, acme, memory.Fact{Content: "Acme pays by invoice", Trust: memory.Stated}); err != nil {
		panic(err)
	}
	found, err := facts.Recall(ctx, memory.Recall{Query: memory.Query{Scope: acme}, Text: "how do they pay?"})
	if err != nil {
		panic(err)
	}
	fmt.Println(found[0].Content)
	done, err := values.Batch(ctx, acme, kv.Batch{Write: []kv.Entry{{Address: kv.Address{Namespace: []string{"plan"}, Key: "now"}, Value: []byte(`"pro"`)}}})
	fmt.Println(len(done.Written), err)
	// Output:
	// Acme pays by invoice
	// 1 <nil>
}

// A service tells who asks for too much at once to come again later.
func ExampleBusyError() {
	err := fmt.Errorf("memory: recall: %w", &fair.BusyError{Tenant: "acme", Waiting: 100}) // of any call
	if busy, ok := errors.AsType[*fair.BusyError](err); ok {
		fmt.Println(busy.Tenant, "gets status 429:", errors.Is(err, memory.ErrBusy))
	}
	// Output:
	// acme gets status 429: true
}
