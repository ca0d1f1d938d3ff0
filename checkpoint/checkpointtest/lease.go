package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/weft-go/weft/checkpoint"
)

var leaseCases = []testCase{
	{name: "lease/exclusive", needs: needsLease, promise: "a second lease of a thread is an ErrConflict at once, until the first is released", run: func(k *kit) {
		first := k.lease("t")
		_, err := k.leaser().Lease(k.ctx, "t")
		k.wantErr("second", err, checkpoint.ErrConflict)
		k.release(first)
		second := k.lease("t")
		_, err = k.leaser().Lease(k.ctx, "t")
		k.wantErr("third", err, checkpoint.ErrConflict)
		k.release(second)
	}},
	{name: "lease/threads", needs: needsLease, promise: "a lease is of one thread", run: func(k *kit) {
		a, b := k.lease("a"), k.lease("b")
		k.release(a)
		_, err := k.leaser().Lease(k.ctx, "b")
		k.wantErr("of the other", err, checkpoint.ErrConflict)
		k.release(b)
	}},
	{name: "lease/is_a_store", needs: needsLease, promise: "a lease reads and writes as its store does", run: func(k *kit) {
		before := k.put("t", with("a=1"))
		lease, outside := k.lease("t"), k.store
		k.store = lease
		c := k.put("t", with("a=2"))
		k.write(c.Key, write("task", 0, "v"))
		for _, store := range []checkpoint.Store{lease, outside} {
			k.store = store
			k.wantSame(k.latest("t"), c)
			k.wantState(c, "a=1", "a=2")
			k.wantWrites("writes", k.latest("t").Writes, write("task", 0, "v"))
			k.wantList(checkpoint.Query{Thread: "t"}, c, before)
		}
		k.store = lease
		k.wantErr("stale head", k.store.Put(k.ctx, k.next("t"), before.ID), checkpoint.ErrConflict)
		k.wantErr("too large", k.tooLarge(c.Key), checkpoint.ErrTooLarge)
		k.release(lease)
	}},
	{name: "lease/of_a_new_thread", needs: needsLease, promise: "a thread that does not exist can be leased, and does not exist by that", run: func(k *kit) {
		lease, outside := k.lease("t"), k.store
		k.wantMissing(checkpoint.Key{Thread: "t"})
		k.store = lease
		c := k.put("t")
		k.release(lease)
		k.store = outside
		k.wantSame(k.latest("t"), c)
	}},
	{name: "lease/released", needs: needsLease, promise: "a lease that was released writes no more, and does not harm the next one", run: func(k *kit) {
		c := k.put("t")
		old := k.lease("t")
		k.release(old)
		current := k.lease("t")
		k.release(old)
		_, err := k.leaser().Lease(k.ctx, "t")
		k.wantErr("while the next one is held", err, checkpoint.ErrConflict)
		k.wantErr("put", old.Put(k.ctx, k.next("t"), c.ID), checkpoint.ErrConflict)
		k.wantErr("put writes", old.PutWrites(k.ctx, c.Key, []checkpoint.Write{write("task", 0, "v")}), checkpoint.ErrConflict)
		k.wantList(checkpoint.Query{Thread: "t"}, c)
		k.wantWrites("writes", k.latest("t").Writes)
		k.release(current)
	}},
	{name: "lease/release_when_cancelled", needs: needsLease, promise: "Release takes effect though its context is done", run: func(k *kit) {
		lease := k.lease("t")
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		k.wantNoErr("release", lease.Release(ctx))
		k.release(k.lease("t"))
	}},
	{name: "lease/race", needs: needsLease, promise: "of many who want a thread at once exactly one gets it", run: func(k *kit) {
		for round := range 20 {
			thread := fmt.Sprint("t", round%2)
			var won atomic.Int32
			leases := make([]checkpoint.Lease, 16)
			k.each(len(leases), func(k *kit, i int) error {
				lease, err := k.leaser().Lease(k.ctx, thread)
				if err == nil {
					won.Add(1)
					leases[i] = lease
				} else if !errors.Is(err, checkpoint.ErrConflict) {
					return err
				}
				return nil
			})
			if n := won.Load(); n != 1 {
				k.Fatalf("round %d: %d leases want 1", round, n)
			}
			for _, lease := range leases {
				if lease != nil {
					k.release(lease)
				}
			}
		}
	}},
	{name: "lease/invalid", needs: needsLease, promise: "an empty thread is an ErrInvalid, and a context that is done gets no lease", run: func(k *kit) {
		_, err := k.leaser().Lease(k.ctx, "")
		k.wantErr("no thread", err, checkpoint.ErrInvalid)
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		_, err = k.leaser().Lease(ctx, "t")
		k.wantErr("cancelled", err, context.Canceled)
		k.release(k.lease("t"))
	}},
}

func (k *kit) lease(thread string) checkpoint.Lease {
	k.Helper()
	lease, err := k.leaser().Lease(k.ctx, thread)
	if err != nil {
		k.Fatalf("lease of %q: %v", thread, err)
	}
	return lease
}

func (k *kit) release(lease checkpoint.Lease) {
	k.Helper()
	if err := lease.Release(k.ctx); err != nil {
		k.Errorf("release: %v", err)
	}
}

// tooLarge tries to put a write over the limit.
func (k *kit) tooLarge(key checkpoint.Key) error {
	if k.limit() < 0 {
		return checkpoint.ErrTooLarge
	}
	return k.store.PutWrites(k.ctx, key, []checkpoint.Write{{Data: make([]byte, k.limit()+1)}})
}
