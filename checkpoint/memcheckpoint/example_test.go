package memcheckpoint_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

// A store rejects a writer that has not read the newest checkpoint.
func Example() {
	ctx := context.Background()
	store := memcheckpoint.New(memcheckpoint.Options{})
	put := func(id, parent, head, data string) error {
		return store.Put(ctx, checkpoint.Checkpoint{
			Key:     checkpoint.Key{Thread: "agent-42", ID: id},
			Parent:  parent,
			Source:  checkpoint.Loop,
			Changes: []checkpoint.Change{{Channel: "messages", Data: []byte(data)}},
		}, head)
	}
	fmt.Println(put("1", "", "", "hello"))
	fmt.Println(put("2", "1", "1", "again"))
	fmt.Println(errors.Is(put("3", "1", "1", "late"), checkpoint.ErrConflict))
	fmt.Println(put("3", "1", "2", "a fork"))

	c, err := store.Get(ctx, checkpoint.Key{Thread: "agent-42"})
	if err != nil {
		fmt.Println(err)
	}
	for _, d := range c.Lineage {
		fmt.Printf("%s: %s\n", d.ID, d.Changes[0].Data)
	}
	// Output:
	// <nil>
	// <nil>
	// true
	// <nil>
	// 1: hello
	// 3: a fork
}

// After Prune, the lineage of a kept checkpoint still has the changes of its removed
// ancestors.
func ExampleStore_Prune() {
	ctx := context.Background()
	store := memcheckpoint.New(memcheckpoint.Options{})
	head := ""
	for _, id := range []string{"1", "2", "3"} {
		c := checkpoint.Checkpoint{
			Key:     checkpoint.Key{Thread: "agent-42", ID: id},
			Parent:  head,
			Changes: []checkpoint.Change{{Channel: "n", Data: []byte(id)}},
		}
		if err := store.Put(ctx, c, head); err != nil {
			fmt.Println(err)
		}
		head = id
	}
	removed, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 1})
	fmt.Println(removed, err)
	c, err := store.Get(ctx, checkpoint.Key{Thread: "agent-42"})
	fmt.Println(c.ID, len(c.Lineage), err)
	// Output:
	// 2 <nil>
	// 3 3 <nil>
}

func ExampleStore_Lease() {
	ctx := context.Background()
	store := memcheckpoint.New(memcheckpoint.Options{})
	lease, err := store.Lease(ctx, "agent-42")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = store.Lease(ctx, "agent-42")
	fmt.Println(errors.Is(err, checkpoint.ErrConflict))
	fmt.Println(lease.Release(ctx))
	// Output:
	// true
	// <nil>
}

func ExampleStore_CopyThread() {
	ctx := context.Background()
	store := memcheckpoint.New(memcheckpoint.Options{})
	c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "agent-42", ID: "1"}, Source: checkpoint.Input}
	if err := store.Put(ctx, c, ""); err != nil {
		fmt.Println(err)
	}
	if err := store.CopyThread(ctx, "agent-42", "what-if"); err != nil {
		fmt.Println(err)
	}
	for info, err := range store.ListThreads(ctx, "") {
		fmt.Println(info.ID, info.Checkpoints, err)
	}
	// Output:
	// agent-42 1 <nil>
	// what-if 1 <nil>
}
