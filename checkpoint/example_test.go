package checkpoint_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

func ExampleEncrypted() {
	ctx := context.Background()
	inner := memcheckpoint.New(memcheckpoint.Options{})
	key := []byte("32 random bytes, not such a text")
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

// A store that keeps changes as frames detects damage when it reads them.
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

// Reseal encrypts all threads with the new key. Afterwards the old key is not needed.
func ExampleEncryptedStore_Reseal() {
	ctx := context.Background()
	inner := memcheckpoint.New(memcheckpoint.Options{})
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
