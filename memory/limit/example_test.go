package limit_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/limit"
)

func ExampleNew() {
	ctx := context.Background()
	b, err := limit.New(inmemory.New(inmemory.Options{}), limit.Options{Concurrent: 8, PerTenant: 2, Rate: 50})
	if err != nil {
		panic(err)
	}
	m, err := memory.New(b, memory.Options{})
	if err != nil {
		panic(err)
	}
	_, err = m.Remember(ctx, memory.Scope{Tenant: "acme", User: "ann"}, "Ann drinks tea")
	fmt.Println(err)
	// Output:
	// <nil>
}
