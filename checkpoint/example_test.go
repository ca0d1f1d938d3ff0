package checkpoint_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
)

// A store refuses a checkpoint whose writer has not seen the newest one.
func ExampleNewMemory() {
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
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

func ExampleEncrypted() {
	ctx := context.Background()
	inner := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	key := []byte("use 32 random bytes and no text!")
	store, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{
		Active: "2026-11",
		Keys:   map[string][]byte{"2026-11": key},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = store.Put(ctx, checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: "agent-42", ID: "1"},
		Changes: []checkpoint.Change{{Channel: "messages", Data: []byte("hello")}},
	}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	open, _ := store.Get(ctx, checkpoint.Key{Thread: "agent-42"})
	sealed, _ := inner.Get(ctx, checkpoint.Key{Thread: "agent-42"})
	fmt.Printf("%s\n", open.Changes[0].Data)
	fmt.Println(len(sealed.Changes[0].Data), "bytes are stored")
	// Output:
	// hello
	// 42 bytes are stored
}

// To rotate keys, encrypt everything again with the new key. The old key is no longer
// needed afterwards.
func ExampleEncryptedStore_Reseal() {
	ctx := context.Background()
	inner := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	oldKey, newKey := []byte("the old key: use 32 random bytes"), []byte("the new key: use 32 random bytes")
	old, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{Active: "2026-11", Keys: map[string][]byte{"2026-11": oldKey}})
	if err != nil {
		fmt.Println(err)
		return
	}
	k := checkpoint.Key{Thread: "agent-42", ID: "1"}
	if err := old.Put(ctx, checkpoint.Checkpoint{Key: k, Control: []byte("hello")}, ""); err != nil {
		fmt.Println(err)
	}

	rotating, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{
		Active: "2027-01",
		Keys:   map[string][]byte{"2027-01": newKey, "2026-11": oldKey},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := rotating.Reseal(ctx, checkpoint.ResealOptions{})
	fmt.Println(result.Resealed, "of", result.Threads, err)

	store, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{Active: "2027-01", Keys: map[string][]byte{"2027-01": newKey}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := store.Get(ctx, k)
	fmt.Printf("%s %v\n", c.Control, err)
	// Output:
	// 1 of 1 <nil>
	// hello <nil>
}

// A checkpoint that pruning keeps retains its lineage.
func ExampleMemory_Prune() {
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
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
	n, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 1})
	fmt.Println(n, err)
	c, err := store.Get(ctx, checkpoint.Key{Thread: "agent-42"})
	fmt.Println(c.ID, len(c.Lineage), err)
	// Output:
	// 2 <nil>
	// 3 3 <nil>
}

func ExampleMemory_Lease() {
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
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

func ExampleMemory_CopyThread() {
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
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

// A store keeps frames, and detects damage when it reads them.
func ExampleParseChanges() {
	frame := checkpoint.AppendChanges(nil, []checkpoint.Change{{Channel: "n", Data: []byte("1")}})
	changes, err := checkpoint.ParseChanges(frame)
	fmt.Println(changes[0].Channel, err)
	frame[len(frame)-1]++
	_, err = checkpoint.ParseChanges(frame)
	fmt.Println(errors.Is(err, checkpoint.ErrCorrupt))
	// Output:
	// n <nil>
	// true
}
