package transfer_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
	"github.com/weft-go/weft/memory/transfer"
)

// What a program kept in memory goes to a database. The file between them could be on
// another machine.
func Example() {
	ctx := context.Background()
	facts := inmemory.NewFacts(inmemory.Options{})
	m, err := memory.New(facts, memory.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := m.Store(ctx, memory.Scope{User: "ann"}, memory.Fact{Content: "Ann drinks tea", Trust: memory.Stated}); err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if _, err := transfer.Export(ctx, transfer.Stores{Facts: facts}, &file, transfer.Options{}); err != nil {
		panic(err)
	}

	db, err := sqlitememory.Open(ctx, sqlitememory.Memory, sqlitememory.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	all := transfer.Stores{
		Facts: db.Facts(), Documents: db.Documents(), Values: db.Values(), Conversations: db.Conversations(), Turns: db.Turns(),
	}
	counts, err := transfer.Import(ctx, all, &file, transfer.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(counts.Facts)
	// Output:
	// 1
}
