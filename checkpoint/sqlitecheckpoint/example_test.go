package sqlitecheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// The checkpoints are still in the file when it is opened again.
func Example() {
	folder, err := os.MkdirTemp("", "weft")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, path := context.Background(), filepath.Join(folder, "weft.db")

	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	first := checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: "chat", ID: "a"},
		Source:  checkpoint.Input,
		Changes: []checkpoint.Change{{Channel: "messages", Data: []byte("hello")}},
	}
	if err := store.Put(ctx, first, ""); err != nil {
		log.Fatal(err)
	}
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}

	again, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	newest, err := again.Get(ctx, checkpoint.Key{Thread: "chat"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", newest.ID, newest.Changes[0].Data)
	// Output: a: hello
}

func inMemory() *sqlitecheckpoint.Store {
	store, err := sqlitecheckpoint.Open(context.Background(), sqlitecheckpoint.Memory, sqlitecheckpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return store
}

// Only one run at a time can lease a thread. A lease also ends with its process.
func ExampleStore_Lease() {
	ctx, store := context.Background(), inMemory()
	defer func() { _ = store.Close() }()

	lease, err := store.Lease(ctx, "chat")
	if err != nil {
		log.Fatal(err)
	}
	_, err = store.Lease(ctx, "chat")
	fmt.Println("second run is refused:", errors.Is(err, checkpoint.ErrConflict))
	if err := lease.Release(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = store.Lease(ctx, "chat")
	fmt.Println("after the release:", err)
	// Output:
	// second run is refused: true
	// after the release: <nil>
}

func chain(store *sqlitecheckpoint.Store, thread string, n int) {
	head := ""
	for i := range n {
		id := fmt.Sprint("step ", i+1)
		c := checkpoint.Checkpoint{
			Key: checkpoint.Key{Thread: thread, ID: id}, Parent: head, Step: i, Source: checkpoint.Loop,
			Changes: []checkpoint.Change{{Channel: "sum", Data: fmt.Append(nil, i+1)}},
		}
		if err := store.Put(context.Background(), c, head); err != nil {
			log.Fatal(err)
		}
		head = id
	}
}

// List yields the checkpoints newest first. It reads them while the loop runs.
func ExampleStore_List() {
	ctx, store := context.Background(), inMemory()
	defer func() { _ = store.Close() }()
	chain(store, "chat", 5)

	for c, err := range store.List(ctx, checkpoint.Query{Thread: "chat", Before: "step 4", Limit: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.ID, "after", c.Parent)
	}
	// Output:
	// step 3 after step 2
	// step 2 after step 1
}

// A checkpoint that Prune keeps also keeps the changes of its removed ancestors.
func ExampleStore_Prune() {
	ctx, store := context.Background(), inMemory()
	defer func() { _ = store.Close() }()
	chain(store, "chat", 100)

	removed, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 1})
	if err != nil {
		log.Fatal(err)
	}
	newest, err := store.Get(ctx, checkpoint.Key{Thread: "chat"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(removed, "removed;", newest.ID, "is still built from", len(newest.Lineage), "steps")
	// Output: 99 removed; step 100 is still built from 100 steps
}

func ExampleStore_DeleteRuns() {
	ctx, store := context.Background(), inMemory()
	defer func() { _ = store.Close() }()
	for i, run := range []string{"good", "bad", "good"} {
		c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "chat", ID: fmt.Sprint(i)}, Run: run, Source: checkpoint.Loop}
		head := ""
		if i > 0 {
			head = fmt.Sprint(i - 1)
		}
		c.Parent = head
		if err := store.Put(ctx, c, head); err != nil {
			log.Fatal(err)
		}
	}
	if err := store.DeleteRuns(ctx, "chat", "bad"); err != nil {
		log.Fatal(err)
	}
	newest, err := store.Get(ctx, checkpoint.Key{Thread: "chat"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(newest.ID, "now follows", newest.Parent)
	// Output: 2 now follows 0
}

func ExampleStore_ListThreads() {
	ctx, store := context.Background(), inMemory()
	defer func() { _ = store.Close() }()
	chain(store, "user/1", 3)
	if err := store.CopyThread(ctx, "user/1", "user/2"); err != nil {
		log.Fatal(err)
	}
	chain(store, "other", 1)

	for t, err := range store.ListThreads(ctx, "user/") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.ID, t.Checkpoints)
	}
	// Output:
	// user/1 3
	// user/2 3
}

// Options can limit the size of the file and of a value.
func ExampleOptions() {
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, sqlitecheckpoint.Memory, sqlitecheckpoint.Options{
		MaxValue:    1 << 20,
		MaxSize:     256 << 10,
		Synchronous: sqlitecheckpoint.Normal,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()

	large := checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: "chat", ID: "a"}, Source: checkpoint.Input,
		Changes: []checkpoint.Change{{Channel: "file", Data: make([]byte, 512<<10)}},
	}
	fmt.Println("full:", errors.Is(store.Put(ctx, large, ""), sqlitecheckpoint.ErrFull))
	large.Changes[0].Data = make([]byte, 2<<20)
	fmt.Println("too large:", errors.Is(store.Put(ctx, large, ""), checkpoint.ErrTooLarge))
	// Output:
	// full: true
	// too large: true
}
