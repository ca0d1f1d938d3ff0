package memory_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// Export writes the memory of a process to a file, and Import copies the file to a database.
func ExampleMemory_Export() {
	ctx := context.Background()
	old, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := old.Remember(ctx, memory.Scope{User: "ann"}, "Ann drinks tea"); err != nil {
		panic(err)
	}
	var file bytes.Buffer
	if _, err := old.Export(ctx, &file, memory.TransferOptions{}); err != nil {
		panic(err)
	}

	db, err := sqlitememory.Open(ctx, sqlitememory.Memory, sqlitememory.Options{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	m, err := memory.New(db, memory.Options{})
	if err != nil {
		panic(err)
	}
	counts, err := m.Import(ctx, &file, memory.TransferOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(counts.Facts, "facts")
	// Output:
	// 1 facts
}
