package pgmemory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

func ExampleDB_Conversations() {
	ctx := context.Background()
	address, options, drop := exampleDatabase()
	defer drop()
	db, err := pgmemory.Open(ctx, address, options)
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Panic(err)
	}
	history := m.Conversations()

	ann := driver.Scope{Tenant: "acme", User: "ann"}
	// A row that a Python program has saved.
	row := []byte(`[{"type":"human","data":{"content":"What is a weft?","id":null}},{"type":"ai","data":{"content":"Threads across a warp.","id":"run-1"}}]`)
	if _, err := history.FromLangChain(ctx, ann, "s1", row); err != nil {
		log.Panic(err)
	}
	_, err = history.Append(ctx, ann, memory.Turn{Session: "s1", Messages: []llm.Message{llm.User("And a warp?"), llm.Assistant("Threads along it.")}})
	if err != nil {
		log.Panic(err)
	}
	messages, err := history.Load(ctx, ann, "s1")
	if err != nil {
		log.Panic(err)
	}
	for _, m := range messages {
		fmt.Println(m.Position, m)
	}
	// Output:
	// 1 user: What is a weft?
	// 2 assistant: Threads across a warp.
	// 3 user: And a warp?
	// 4 assistant: Threads along it.
}

// A program stores values, and the profiles of users.
func ExampleDB_Values() {
	ctx := context.Background()
	address, options, drop := exampleDatabase()
	defer drop()
	db, err := pgmemory.Open(ctx, address, options)
	if err != nil {
		log.Panic(err)
	}
	defer db.Close()
	ann := driver.Scope{Tenant: "acme", User: "ann"}

	m, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Panic(err)
	}
	values := m.Values()
	orders := values.In(ann, "shop", "orders")
	for key, cups := range map[string]int{"monday": 9, "tuesday": 10} {
		if _, err := memory.PutValue(ctx, orders, key, map[string]int{"cups": cups}, memory.PutOptions{}); err != nil {
			log.Panic(err)
		}
	}
	for item, err := range orders.List(ctx, driver.ValueQuery{Where: []driver.Condition{driver.Where("cups", driver.Less, 10)}}) {
		fmt.Println(item.Key, string(item.Value), err)
	}

	if _, err := m.Profile(ann).Patch(ctx, "settings", []byte(`{"units":"metric"}`), 0); err != nil {
		log.Panic(err)
	}
	settings, err := m.Profile(ann).Get(ctx, "settings")
	fmt.Println(string(settings.Value), err)
	// Output:
	// monday {"cups":9} <nil>
	// {"units":"metric"} <nil>
}
