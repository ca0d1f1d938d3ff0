package checkpointtest

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
)

var durableCases = []testCase{
	{name: "durable/survives_reopen", needs: needsReopen, promise: "acknowledged data is present after the store is reopened, and the thread can be continued", run: func(f *fixture) {
		root := f.put("t", withChanges("a=1"), withMetadata(map[string]string{"k": "v"}))
		f.put("t", withChanges("a=2"), withSnapshot("a=12"))
		last := f.put("t", withChanges("a=3"))
		child := f.put("t", inNamespace("child"))
		f.write(last.Key, write("task", 0, "v"))
		f.reopen()
		f.wantSame(f.get(root.Key), root)
		f.wantSame(f.latest("t"), last)
		f.wantSame(f.get(child.Key), child)
		f.wantState(last, "a=12", "a=3")
		f.wantWrites("writes", f.latest("t").Writes, write("task", 0, "v"))
		f.wantNoErr("repeated put", f.store.Put(f.ctx, last, last.Parent))
		f.wantErr("stale head", f.store.Put(f.ctx, f.next("t"), root.ID), checkpoint.ErrConflict)
		next := f.put("t", withChanges("a=4"), settles())
		f.reopen()
		f.wantState(next, "a=12", "a=3", "a=4")
		f.wantWrites("settled", f.get(last.Key).Writes)
	}},
	{name: "durable/deleted", needs: needsReopen, promise: "deleted data is absent after the store is reopened", run: func(f *fixture) {
		f.put("t")
		kept := f.put("other")
		f.deleteThread("t")
		f.reopen()
		f.wantMissing(checkpoint.Key{Thread: "t"})
		f.wantSame(f.get(kept.Key), kept)
	}},
	{name: "durable/reopen_often", needs: needsReopen, promise: "order and lineage survive many reopenings", run: func(f *fixture) {
		var made []checkpoint.Checkpoint
		for i := range 10 {
			made = append(made, f.put("t", withChanges(fmt.Sprint("n=", i))))
			f.reopen()
		}
		f.wantList(checkpoint.Query{Thread: "t"}, reversed(made)...)
		f.wantLineage(made[9], made...)
	}},
	{name: "durable/corrupt_changes", needs: needsCorrupt, promise: "Get returns ErrCorrupt, ErrFormat or ErrDecrypt for a flipped bit in stored changes, and never another value", run: func(f *fixture) {
		c := f.next("t", withChanges("messages=hello", "sum=4", "empty="))
		c.Control = []byte(`{"next":["a"]}`)
		f.wantNoErr("put", f.tryPut(c))
		f.wantDamageSeen(c)
	}},
	{name: "durable/corrupt_snapshot", needs: needsCorrupt, promise: "Get returns ErrCorrupt, ErrFormat or ErrDecrypt for a flipped bit in a stored snapshot", run: func(f *fixture) {
		c := f.next("t", withChanges(), withSnapshot("messages=hello", "sum=4"))
		c.Control = nil
		f.wantNoErr("put", f.tryPut(c))
		f.wantDamageSeen(c)
	}},
	{name: "durable/corrupt_writes", needs: needsCorrupt, promise: "Get returns ErrCorrupt, ErrFormat or ErrDecrypt for a flipped bit in a pending write", run: func(f *fixture) {
		c := f.next("t", withChanges())
		c.Control = nil
		f.wantNoErr("put", f.tryPut(c))
		f.write(c.Key, write("task", 0, "hello"), write("task", 1, ""))
		f.wantDamageSeen(c, write("task", 0, "hello"), write("task", 1, ""))
	}},
	{name: "durable/corrupt_ancestor", needs: needsCorrupt, promise: "Get fails for every lineage that contains a damaged ancestor, and for no other", run: func(f *fixture) {
		root := f.put("t", withChanges("a=1"))
		bad := f.put("t", withChanges("a=2"))
		last := f.put("t", withChanges("a=3"))
		whole := f.put("t", withSnapshot("a=123"))
		fork := f.put("t", withParent(root), withChanges("a=4"))
		if !f.harness.Corrupt(f, f.store, bad.Key, 8) {
			f.Fatal("nothing to corrupt")
		}
		for _, c := range []checkpoint.Checkpoint{bad, last} {
			if _, err := f.store.Get(f.ctx, c.Key); !damaged(err) {
				f.Errorf("get %q: got error %v want ErrCorrupt", c.ID, err)
			}
		}
		f.wantLineage(root, root)
		f.wantLineage(whole, whole)
		f.wantLineage(fork, root, fork)
	}},
}

func (f *fixture) reopen() {
	f.Helper()
	f.store = f.harness.Reopen(f, f.store)
}

// wantDamageSeen flips one bit of each stored byte of a checkpoint, one byte at a
// time, and fails unless Get reports the damage.
func (f *fixture) wantDamageSeen(c checkpoint.Checkpoint, writes ...checkpoint.Write) {
	f.Helper()
	offset := 0
	for ; f.harness.Corrupt(f, f.store, c.Key, offset); offset++ {
		got, err := f.store.Get(f.ctx, c.Key)
		if !damaged(err) {
			f.Errorf("byte %d flipped: got %s, error %v want ErrCorrupt", offset, brief(got), err)
		}
		if !f.harness.Corrupt(f, f.store, c.Key, offset) {
			f.Fatalf("byte %d cannot be restored", offset)
		}
	}
	if offset == 0 {
		f.Fatal("nothing to corrupt")
	}
	got := f.get(c.Key)
	f.wantSame(got, c)
	f.wantWrites("writes", got.Writes, writes...)
}

func damaged(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat) || errors.Is(err, checkpoint.ErrDecrypt)
}
