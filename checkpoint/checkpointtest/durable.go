package checkpointtest

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
)

var durableCases = []testCase{
	{name: "durable/survives_reopen", needs: needsReopen, promise: "what was acknowledged is there when the store is opened again, and goes on", run: func(k *kit) {
		root := k.put("t", with("a=1"), about(map[string]string{"k": "v"}))
		k.put("t", with("a=2"), whole("a=12"))
		last := k.put("t", with("a=3"))
		child := k.put("t", in("child"))
		k.write(last.Key, write("task", 0, "v"))
		k.reopen()
		k.wantSame(k.get(root.Key), root)
		k.wantSame(k.latest("t"), last)
		k.wantSame(k.get(child.Key), child)
		k.wantState(last, "a=12", "a=3")
		k.wantWrites("writes", k.latest("t").Writes, write("task", 0, "v"))
		k.wantNoErr("repeated put", k.store.Put(k.ctx, last, last.Parent))
		k.wantErr("stale head", k.store.Put(k.ctx, k.next("t"), root.ID), checkpoint.ErrConflict)
		next := k.put("t", with("a=4"), settling())
		k.reopen()
		k.wantState(next, "a=12", "a=3", "a=4")
		k.wantWrites("settled", k.get(last.Key).Writes)
	}},
	{name: "durable/deleted", needs: needsReopen, promise: "what was deleted stays away", run: func(k *kit) {
		k.put("t")
		kept := k.put("other")
		k.deleteThread("t")
		k.reopen()
		k.wantMissing(checkpoint.Key{Thread: "t"})
		k.wantSame(k.get(kept.Key), kept)
	}},
	{name: "durable/reopen_often", needs: needsReopen, promise: "order and lineage hold over many openings", run: func(k *kit) {
		var made []checkpoint.Checkpoint
		for i := range 10 {
			made = append(made, k.put("t", with(fmt.Sprint("n=", i))))
			k.reopen()
		}
		k.wantList(checkpoint.Query{Thread: "t"}, newestFirst(made)...)
		k.wantLineage(made[9], made...)
	}},
	{name: "durable/corrupt_changes", needs: needsCorrupt, promise: "a flipped bit in stored changes is ErrCorrupt, ErrFormat or ErrDecrypt, never another value", run: func(k *kit) {
		c := k.next("t", with("messages=hello", "sum=4", "empty="))
		c.Control = []byte(`{"next":["a"]}`)
		k.wantNoErr("put", k.tryPut(c))
		k.wantDamageSeen(c)
	}},
	{name: "durable/corrupt_snapshot", needs: needsCorrupt, promise: "so is one in a snapshot", run: func(k *kit) {
		c := k.next("t", with(), whole("messages=hello", "sum=4"))
		c.Control = nil
		k.wantNoErr("put", k.tryPut(c))
		k.wantDamageSeen(c)
	}},
	{name: "durable/corrupt_writes", needs: needsCorrupt, promise: "so is one in a pending write", run: func(k *kit) {
		c := k.next("t", with())
		c.Control = nil
		k.wantNoErr("put", k.tryPut(c))
		k.write(c.Key, write("task", 0, "hello"), write("task", 1, ""))
		k.wantDamageSeen(c, write("task", 0, "hello"), write("task", 1, ""))
	}},
	{name: "durable/corrupt_ancestor", needs: needsCorrupt, promise: "damage of an ancestor shows in every lineage that needs it, and in no other", run: func(k *kit) {
		root := k.put("t", with("a=1"))
		bad := k.put("t", with("a=2"))
		last := k.put("t", with("a=3"))
		whole := k.put("t", whole("a=123"))
		fork := k.put("t", after(root), with("a=4"))
		if !k.harness.Corrupt(k, k.store, bad.Key, 8) {
			k.Fatal("nothing to corrupt")
		}
		for _, c := range []checkpoint.Checkpoint{bad, last} {
			if _, err := k.store.Get(k.ctx, c.Key); !damaged(err) {
				k.Errorf("get %q: got error %v want ErrCorrupt", c.ID, err)
			}
		}
		k.wantLineage(root, root)
		k.wantLineage(whole, whole)
		k.wantLineage(fork, root, fork)
	}},
}

func (k *kit) reopen() {
	k.Helper()
	k.store = k.harness.Reopen(k, k.store)
}

// wantDamageSeen flips a bit of every stored byte of a checkpoint in turn.
func (k *kit) wantDamageSeen(c checkpoint.Checkpoint, writes ...checkpoint.Write) {
	k.Helper()
	offset := 0
	for ; k.harness.Corrupt(k, k.store, c.Key, offset); offset++ {
		got, err := k.store.Get(k.ctx, c.Key)
		if !damaged(err) {
			k.Errorf("byte %d flipped: got %s, error %v want ErrCorrupt", offset, brief(got), err)
		}
		if !k.harness.Corrupt(k, k.store, c.Key, offset) {
			k.Fatalf("byte %d can not be restored", offset)
		}
	}
	if offset == 0 {
		k.Fatal("nothing to corrupt")
	}
	got := k.get(c.Key)
	k.wantSame(got, c)
	k.wantWrites("writes", got.Writes, writes...)
}

func damaged(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat) || errors.Is(err, checkpoint.ErrDecrypt)
}
