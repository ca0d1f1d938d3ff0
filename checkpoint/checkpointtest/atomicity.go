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
	{name: "atomicity/head", promise: "Put is refused unless the caller has seen the newest, and leaves nothing, not even what it settles", run: func(k *kit) {
		made := k.chain("t", 2)
		k.write(made[1].Key, write("task", 0, "v"))
		for _, head := range []string{"", made[0].ID, "none"} {
			c := k.next("t", settling())
			k.wantErr("head "+head, k.store.Put(k.ctx, c, head), checkpoint.ErrConflict)
			k.wantMissing(c.Key)
		}
		k.wantWrites("writes", k.get(made[1].Key).Writes, write("task", 0, "v"))
		k.wantList(checkpoint.Query{Thread: "t"}, newestFirst(made)...)
		first := k.next("new")
		k.wantErr("head of a thread that does not exist", k.store.Put(k.ctx, first, "none"), checkpoint.ErrConflict)
		k.wantMissing(first.Key)
		k.put("new")
	}},
	{name: "atomicity/head_of_namespace", promise: "the head is that of the namespace", run: func(k *kit) {
		root, child := k.put("t"), k.put("t", in("child"))
		k.wantErr("head of another namespace", k.store.Put(k.ctx, k.next("t"), child.ID), checkpoint.ErrConflict)
		k.wantErr("no head", k.store.Put(k.ctx, k.next("t", in("child")), ""), checkpoint.ErrConflict)
		k.put("t")
		k.put("t", in("child"))
		k.wantSame(k.get(root.Key), root)
	}},
	{name: "atomicity/duplicate_id", promise: "an id is unique in its thread, and a second use is an ErrConflict", run: func(k *kit) {
		made := k.chain("t", 2, with("a=1"))
		child := k.put("t", in("child"))
		for _, id := range []string{made[0].ID, child.ID} {
			k.wantErr("id used before", k.store.Put(k.ctx, k.next("t", named(id), with("a=2")), made[1].ID), checkpoint.ErrConflict)
		}
		k.wantErr("id of another namespace", k.store.Put(k.ctx, k.next("t", in("child"), named(made[1].ID)), child.ID), checkpoint.ErrConflict)
		k.wantSame(k.get(made[0].Key), made[0])
		k.wantSame(k.get(child.Key), child)
		k.wantList(checkpoint.Query{Thread: "t", AllNamespaces: true}, child, made[1], made[0])
	}},
	{name: "atomicity/repeated_put", promise: "putting the newest once more, with the same parent, succeeds and changes nothing", run: func(k *kit) {
		first := k.put("t", with("a=1"))
		k.wantNoErr("first", k.store.Put(k.ctx, first, ""))
		second := k.put("t", with("a=2"))
		k.write(second.Key, write("task", 0, "v"))
		for _, head := range []string{first.ID, second.ID} {
			k.wantNoErr("second, after "+head, k.store.Put(k.ctx, second, head))
		}
		k.wantList(checkpoint.Query{Thread: "t"}, second, first)
		k.wantSame(k.latest("t"), second)
		k.wantWrites("writes", k.latest("t").Writes, write("task", 0, "v"))
		k.wantErr("an older one", k.store.Put(k.ctx, first, ""), checkpoint.ErrConflict)
		other := second
		other.Parent = ""
		k.wantErr("with another parent", k.store.Put(k.ctx, other, first.ID), checkpoint.ErrConflict)
		k.wantSame(k.latest("t"), second)
		k.put("t")
		k.wantErr("one that was followed", k.store.Put(k.ctx, second, first.ID), checkpoint.ErrConflict)
	}},
	{name: "atomicity/own_parent", promise: "a checkpoint that is its own parent is an ErrInvalid", run: func(k *kit) {
		c := k.next("t")
		c.Parent = c.ID
		k.wantErr("put", k.store.Put(k.ctx, c, ""), checkpoint.ErrInvalid)
		k.wantMissing(c.Key)
	}},
	{name: "atomicity/cancelled_before", promise: "with a context that is done nothing happens, and the error says so", run: cancelledBefore},
	{name: "atomicity/cancelled_during", promise: "a Put or PutWrites that is cancelled is stored whole or not at all, and can be repeated", run: cancelledDuring},
	{name: "atomicity/cancelled_list", promise: "a list whose context ends stops with an error", run: func(k *kit) {
		k.chain("t", 200)
		ctx, cancel := context.WithCancel(k.ctx)
		defer cancel()
		n, failed := 0, error(nil)
		for _, err := range k.store.List(ctx, checkpoint.Query{Thread: "t"}) {
			if failed != nil {
				k.Error("list goes on after an error")
			}
			if failed = err; err == nil {
				n++
			}
			cancel()
		}
		if !errors.Is(failed, context.Canceled) || n >= 200 {
			k.Errorf("got %d checkpoints, error %v want fewer and context.Canceled", n, failed)
		}
	}},
}

func (k *kit) wantNoErr(what string, err error) {
	k.Helper()
	if err != nil {
		k.Errorf("%s: %v", what, err)
	}
}

func cancelledBefore(k *kit) {
	c := k.put("t")
	k.write(c.Key, write("task", 0, "v"))
	ctx, cancel := context.WithCancel(k.ctx)
	cancel()
	next := k.next("t", settling())
	k.wantErr("put", k.store.Put(ctx, next, c.ID), context.Canceled)
	k.wantErr("put writes", k.store.PutWrites(ctx, c.Key, []checkpoint.Write{write("b", 0, "b")}), context.Canceled)
	k.wantErr("delete", k.store.DeleteThread(ctx, "t"), context.Canceled)
	_, err := k.store.Get(ctx, c.Key)
	k.wantErr("get", err, context.Canceled)
	for _, err := range k.store.List(ctx, checkpoint.Query{Thread: "t"}) {
		k.wantErr("list", err, context.Canceled)
	}
	k.wantList(checkpoint.Query{Thread: "t"}, c)
	k.wantWrites("writes", k.get(c.Key).Writes, write("task", 0, "v"))
}

func cancelledDuring(k *kit) {
	random := rand.New(rand.NewPCG(k.harness.Seed, 1))
	parent := k.put("t", with("n=0"))
	for i := range 100 {
		writes := []checkpoint.Write{write("a", 0, "1"), write("b", 0, "2")}
		wait := time.Duration(random.IntN(200)) * time.Microsecond
		err := k.cancelled(wait, func(ctx context.Context) error {
			return k.store.PutWrites(ctx, parent.Key, writes)
		})
		if n := len(k.get(parent.Key).Writes); n != 2 && (n != 0 || err == nil) {
			k.Fatalf("got %d of 2 writes after error %v", n, err)
		}
		k.write(parent.Key, writes...)

		c := k.next("t", with("n=1"), settling())
		err = k.cancelled(wait, func(ctx context.Context) error {
			return k.store.Put(ctx, c, parent.ID)
		})
		got := k.latest("t")
		if err == nil && got.ID != c.ID {
			k.Fatalf("%q was acknowledged, but the newest is %q", c.ID, got.ID)
		}
		if err := checkSettled(k, got, parent, c); err != nil {
			k.Fatal(err)
		}
		if again := k.tryPut(c); again != nil && got.ID != c.ID {
			k.Fatalf("repeated after %v: %v", err, again)
		}
		k.newest[space(c.Key)] = c
		parent = c
		if n := len(state(k.latest("t").Lineage)); n != i+2 {
			k.Fatalf("got %d changes want %d", n, i+2)
		}
	}
}

// checkSettled wants the parent with its writes, or its child and no writes. A Put that was cancelled may still commit
// while this reads, but only once: what is newest is then asked again.
func checkSettled(k *kit, newest, parent, child checkpoint.Checkpoint) error {
	k.Helper()
	n := len(k.get(parent.Key).Writes)
	if newest.ID == parent.ID && n == 0 {
		newest = k.latest("t")
	}
	if newest.ID == parent.ID && n == 2 || newest.ID == child.ID && n == 0 {
		return nil
	}
	return fmt.Errorf("newest is %q, and its parent %q has %d of 2 writes", newest.ID, parent.ID, n)
}

// cancelled calls the function with a context that is cancelled soon.
func (k *kit) cancelled(wait time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithCancel(k.ctx)
	timer := time.AfterFunc(wait, cancel)
	defer timer.Stop()
	defer cancel()
	return call(ctx)
}
