package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

var atomicityCases = []testCase{
	{name: "atomicity/head", promise: "Put returns ErrConflict unless head is the newest checkpoint, and then changes nothing, not even the pending writes that it would settle", run: func(f *fixture) {
		made := f.chain("t", 2)
		f.write(made[1].Key, write("task", 0, "v"))
		for _, head := range []string{"", made[0].ID, "none"} {
			c := f.next("t", settles())
			f.wantErr("head "+head, f.store.Put(f.ctx, c, head), checkpoint.ErrConflict)
			f.wantMissing(c.Key)
		}
		f.wantWrites("writes", f.get(made[1].Key).Writes, write("task", 0, "v"))
		f.wantList(checkpoint.Query{Thread: "t"}, reversed(made)...)
		first := f.next("new")
		f.wantErr("head of a thread that does not exist", f.store.Put(f.ctx, first, "none"), checkpoint.ErrConflict)
		f.wantMissing(first.Key)
		f.put("new")
	}},
	{name: "atomicity/head_of_namespace", promise: "each namespace has its own head", run: func(f *fixture) {
		root, child := f.put("t"), f.put("t", inNamespace("child"))
		f.wantErr("head of another namespace", f.store.Put(f.ctx, f.next("t"), child.ID), checkpoint.ErrConflict)
		f.wantErr("no head", f.store.Put(f.ctx, f.next("t", inNamespace("child")), ""), checkpoint.ErrConflict)
		f.put("t")
		f.put("t", inNamespace("child"))
		f.wantSame(f.get(root.Key), root)
	}},
	{name: "atomicity/duplicate_id", promise: "Put returns ErrConflict for an id that the thread already has", run: func(f *fixture) {
		made := f.chain("t", 2, withChanges("a=1"))
		child := f.put("t", inNamespace("child"))
		for _, id := range []string{made[0].ID, child.ID} {
			f.wantErr("id used before", f.store.Put(f.ctx, f.next("t", withID(id), withChanges("a=2")), made[1].ID), checkpoint.ErrConflict)
		}
		f.wantErr("id of another namespace", f.store.Put(f.ctx, f.next("t", inNamespace("child"), withID(made[1].ID)), child.ID), checkpoint.ErrConflict)
		f.wantSame(f.get(made[0].Key), made[0])
		f.wantSame(f.get(child.Key), child)
		f.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, child, made[1], made[0])
	}},
	{name: "atomicity/repeated_put", promise: "Put of the newest checkpoint with the same parent succeeds again and changes nothing", run: func(f *fixture) {
		first := f.put("t", withChanges("a=1"))
		f.wantNoErr("first", f.store.Put(f.ctx, first, ""))
		second := f.put("t", withChanges("a=2"))
		f.write(second.Key, write("task", 0, "v"))
		for _, head := range []string{first.ID, second.ID} {
			f.wantNoErr("second, with head "+head, f.store.Put(f.ctx, second, head))
		}
		f.wantList(checkpoint.Query{Thread: "t"}, second, first)
		f.wantSame(f.latest("t"), second)
		f.wantWrites("writes", f.latest("t").Writes, write("task", 0, "v"))
		f.wantErr("older checkpoint", f.store.Put(f.ctx, first, ""), checkpoint.ErrConflict)
		other := second
		other.Parent = ""
		f.wantErr("with another parent", f.store.Put(f.ctx, other, first.ID), checkpoint.ErrConflict)
		f.wantSame(f.latest("t"), second)
		f.put("t")
		f.wantErr("checkpoint that has a child", f.store.Put(f.ctx, second, first.ID), checkpoint.ErrConflict)
	}},
	{name: "atomicity/own_parent", promise: "Put returns ErrInvalid for a checkpoint that is its own parent", run: func(f *fixture) {
		c := f.next("t")
		c.Parent = c.ID
		f.wantErr("put", f.store.Put(f.ctx, c, ""), checkpoint.ErrInvalid)
		f.wantMissing(c.Key)
	}},
	{name: "atomicity/cancelled_before", promise: "a call whose context is done changes nothing and returns the error of the context", run: cancelledBefore},
	{name: "atomicity/cancelled_during", promise: "a Put or PutWrites that is cancelled stores everything or nothing, and can be repeated", run: cancelledDuring},
	{name: "atomicity/cancelled_list", promise: "List ends with an error when its context ends", run: func(f *fixture) {
		f.chain("t", 200)
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		n, failed := 0, error(nil)
		for _, err := range f.store.List(ctx, checkpoint.Query{Thread: "t"}) {
			if failed != nil {
				f.Error("List yields another pair after an error")
			}
			if failed = err; err == nil {
				n++
			}
			cancel()
		}
		if !errors.Is(failed, context.Canceled) || n >= 200 {
			f.Errorf("got %d checkpoints, error %v want fewer and context.Canceled", n, failed)
		}
	}},
}

func (f *fixture) wantNoErr(what string, err error) {
	f.Helper()
	if err != nil {
		f.Errorf("%s: %v", what, err)
	}
}

func cancelledBefore(f *fixture) {
	c := f.put("t")
	f.write(c.Key, write("task", 0, "v"))
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	next := f.next("t", settles())
	f.wantErr("put", f.store.Put(ctx, next, c.ID), context.Canceled)
	f.wantErr("put writes", f.store.PutWrites(ctx, c.Key, []checkpoint.Write{write("b", 0, "b")}), context.Canceled)
	f.wantErr("delete", f.store.DeleteThread(ctx, "t"), context.Canceled)
	_, err := f.store.Get(ctx, c.Key)
	f.wantErr("get", err, context.Canceled)
	for _, err := range f.store.List(ctx, checkpoint.Query{Thread: "t"}) {
		f.wantErr("list", err, context.Canceled)
	}
	f.wantList(checkpoint.Query{Thread: "t"}, c)
	f.wantWrites("writes", f.get(c.Key).Writes, write("task", 0, "v"))
}

func cancelledDuring(f *fixture) {
	random := rand.New(rand.NewPCG(f.harness.Seed, 1))
	parent := f.put("t", withChanges("n=0"))
	for i := range 100 {
		writes := []checkpoint.Write{write("a", 0, "1"), write("b", 0, "2")}
		wait := time.Duration(random.IntN(200)) * time.Microsecond
		err := f.cancelled(wait, func(ctx context.Context) error {
			return f.store.PutWrites(ctx, parent.Key, writes)
		})
		if n := len(f.get(parent.Key).Writes); n != 2 && (n != 0 || err == nil) {
			f.Fatalf("got %d of 2 writes after error %v", n, err)
		}
		f.write(parent.Key, writes...)

		c := f.next("t", withChanges("n=1"), settles())
		err = f.cancelled(wait, func(ctx context.Context) error {
			return f.store.Put(ctx, c, parent.ID)
		})
		got := f.latest("t")
		if err == nil && got.ID != c.ID {
			f.Fatalf("%q was acknowledged, but the newest is %q", c.ID, got.ID)
		}
		if err := checkSettled(f, got, parent, c); err != nil {
			f.Fatal(err)
		}
		if again := f.tryPut(c); again != nil && got.ID != c.ID {
			f.Fatalf("repeated Put after error %v: %v", err, again)
		}
		f.newest[namespaceOf(c.Key)] = c
		parent = c
		if n := len(state(f.latest("t").Lineage)); n != i+2 {
			f.Fatalf("got %d changes want %d", n, i+2)
		}
	}
}

// checkSettled returns an error unless the parent is the newest checkpoint and has its
// pending writes, or the child is the newest checkpoint and the parent has no pending writes.
// A cancelled Put may commit after the caller has read the newest checkpoint. So if the
// parent has no pending writes, checkSettled reads the newest checkpoint again.
func checkSettled(f *fixture, newest, parent, child checkpoint.Checkpoint) error {
	f.Helper()
	n := len(f.get(parent.Key).Writes)
	if newest.ID == parent.ID && n == 0 {
		newest = f.latest("t")
	}
	if newest.ID == parent.ID && n == 2 || newest.ID == child.ID && n == 0 {
		return nil
	}
	return fmt.Errorf("newest is %q, and its parent %q has %d of 2 writes", newest.ID, parent.ID, n)
}

// cancelled calls a function with a context that it cancels after the time wait.
func (f *fixture) cancelled(wait time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithCancel(f.ctx)
	timer := time.AfterFunc(wait, cancel)
	defer timer.Stop()
	defer cancel()
	return call(ctx)
}
