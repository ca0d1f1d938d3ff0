package agentmemory_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/inmemory"
)

func ExampleStoreContext() {
	ctx := context.Background()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	_, err = agentmemory.StoreContext(ctx, m, memory.Scope{User: "ann"}, agentmemory.Context{
		Plan:        "pro",
		Usage:       []byte(`{"requests":120,"limit":1000}`),
		Preferences: agentmemory.Text("short answers, metric units"),
	})
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"ann", "bob"} {
		c, err := agentmemory.LoadContext(ctx, m, memory.Scope{User: user})
		if err != nil {
			panic(err)
		}
		fmt.Println(c.Summary())
	}
	// Output:
	// Plan: pro
	// Usage: limit: 1000; requests: 120
	// Preferences: short answers, metric units
	// Nothing is known about the plan, usage or preferences of this user.
}
