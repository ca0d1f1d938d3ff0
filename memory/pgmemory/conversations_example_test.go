package pgmemory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/profile"
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
	history, err := memory.NewConversations(db.Conversations())
	if err != nil {
		log.Panic(err)
	}

	ann := driver.Scope{Tenant: "acme", User: "ann"}
	// As a program in Python has saved it.
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

// Values are what package kv and package profile keep.
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

	values, err := memory.NewValues(db.Values(), memory.ValuesOptions{})
	if err != nil {
		log.Panic(err)
	}
	orders := values.In(ann, "shop", "orders")
	for key, cups := range map[string]int{"monday": 9, "tuesday": 10} {
		if _, err := memory.PutValue(ctx, orders, key, map[string]int{"cups": cups}, memory.PutOptions{}); err != nil {
			log.Panic(err)
		}
	}
	for item, err := range orders.List(ctx, driver.ValueQuery{Where: []driver.Condition{driver.Where("cups", driver.Less, 10)}}) {
		fmt.Println(item.Key, string(item.Value), err)
	}

	profiles, err := profile.New(db.Values())
	if err != nil {
		log.Panic(err)
	}
	if _, err := profiles.SetContext(ctx, ann, profile.Context{Plan: "pro", Preferences: profile.Text("short answers")}); err != nil {
		log.Panic(err)
	}
	fmt.Println(profiles.Summary(ctx, ann))
	// Output:
	// monday {"cups":9} <nil>
	// Plan: pro
	// Preferences: short answers <nil>
}
