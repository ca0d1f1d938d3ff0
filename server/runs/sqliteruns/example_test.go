package sqliteruns_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// The store keeps the records and events of a server: they are still there after a restart. Pass it as
// server.Options.Runs.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for start := range 2 {
		store, err := sqliteruns.Open(ctx, filepath.Join(dir, "weft.db"), sqliteruns.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		if start == 0 {
			err = store.Insert(ctx, runs.Record{Kind: runs.Thread, ID: "t", Status: "idle"})
		}
		found, _, serr := store.Search(ctx, runs.Query{Kind: runs.Thread})
		fmt.Println(len(found), found[0].Status, err, serr)
		if err := store.Close(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// 1 idle <nil> <nil>
	// 1 idle <nil> <nil>
}
