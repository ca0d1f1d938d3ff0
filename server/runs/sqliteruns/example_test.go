package sqliteruns_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// A server gets the store as server.Options.Runs. Records and events are there again after a restart.
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
