package checkpointtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/weft-go/weft/checkpoint"
)

var leaseCases = []testCase{
	{name: "lease/exclusive", needs: needsLease, promise: "Lease returns ErrConflict at once while another lease of the thread is held", run: func(f *fixture) {
		first := f.lease("t")
		_, err := f.leaser().Lease(f.ctx, "t")
		f.wantErr("second", err, checkpoint.ErrConflict)
		f.release(first)
		second := f.lease("t")
		_, err = f.leaser().Lease(f.ctx, "t")
		f.wantErr("third", err, checkpoint.ErrConflict)
		f.release(second)
	}},
	{name: "lease/threads", needs: needsLease, promise: "a lease covers one thread", run: func(f *fixture) {
		a, b := f.lease("a"), f.lease("b")
		f.release(a)
		_, err := f.leaser().Lease(f.ctx, "b")
		f.wantErr("lease of the other thread", err, checkpoint.ErrConflict)
		f.release(b)
	}},
	{name: "lease/is_a_store", needs: needsLease, promise: "a lease reads and writes like its store", run: func(f *fixture) {
		before := f.put("t", withChanges("a=1"))
		lease, outside := f.lease("t"), f.store
		f.store = lease
		c := f.put("t", withChanges("a=2"))
		f.write(c.Key, write("task", 0, "v"))
		for _, store := range []checkpoint.Store{lease, outside} {
			f.store = store
			f.wantSame(f.latest("t"), c)
			f.wantState(c, "a=1", "a=2")
			f.wantWrites("writes", f.latest("t").Writes, write("task", 0, "v"))
			f.wantList(checkpoint.Query{Thread: "t"}, c, before)
		}
		f.store = lease
		f.wantErr("stale head", f.store.Put(f.ctx, f.next("t"), before.ID), checkpoint.ErrConflict)
		f.wantErr("too large", f.tooLarge(c.Key), checkpoint.ErrTooLarge)
		f.release(lease)
	}},
	{name: "lease/of_a_new_thread", needs: needsLease, promise: "Lease accepts a thread that does not exist, and does not create it", run: func(f *fixture) {
		lease, outside := f.lease("t"), f.store
		f.wantMissing(checkpoint.Key{Thread: "t"})
		f.store = lease
		c := f.put("t")
		f.release(lease)
		f.store = outside
		f.wantSame(f.latest("t"), c)
	}},
	{name: "lease/released", needs: needsLease, promise: "Put and PutWrites through a released lease return ErrConflict, and releasing it again does not affect the next lease", run: func(f *fixture) {
		c := f.put("t")
		old := f.lease("t")
		f.release(old)
		current := f.lease("t")
		f.release(old)
		_, err := f.leaser().Lease(f.ctx, "t")
		f.wantErr("while the next lease is held", err, checkpoint.ErrConflict)
		f.wantErr("put", old.Put(f.ctx, f.next("t"), c.ID), checkpoint.ErrConflict)
		f.wantErr("put writes", old.PutWrites(f.ctx, c.Key, []checkpoint.Write{write("task", 0, "v")}), checkpoint.ErrConflict)
		f.wantList(checkpoint.Query{Thread: "t"}, c)
		f.wantWrites("writes", f.latest("t").Writes)
		f.release(current)
	}},
	{name: "lease/release_when_cancelled", needs: needsLease, promise: "Release takes effect even if its context is done", run: func(f *fixture) {
		lease := f.lease("t")
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		f.wantNoErr("release", lease.Release(ctx))
		f.release(f.lease("t"))
	}},
	{name: "lease/race", needs: needsLease, promise: "of several concurrent calls of Lease for a thread exactly one succeeds", run: func(f *fixture) {
		for round := range 20 {
			thread := fmt.Sprint("t", round%2)
			var succeeded atomic.Int32
			leases := make([]checkpoint.Lease, 16)
			f.concurrently(len(leases), func(f *fixture, i int) error {
				lease, err := f.leaser().Lease(f.ctx, thread)
				if err == nil {
					succeeded.Add(1)
					leases[i] = lease
				} else if !errors.Is(err, checkpoint.ErrConflict) {
					return err
				}
				return nil
			})
			if n := succeeded.Load(); n != 1 {
				f.Fatalf("round %d: %d leases want 1", round, n)
			}
			for _, lease := range leases {
				if lease != nil {
					f.release(lease)
				}
			}
		}
	}},
	{name: "lease/invalid", needs: needsLease, promise: "Lease returns ErrInvalid for an empty thread, and the error of a context that is done", run: func(f *fixture) {
		_, err := f.leaser().Lease(f.ctx, "")
		f.wantErr("no thread", err, checkpoint.ErrInvalid)
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		_, err = f.leaser().Lease(ctx, "t")
		f.wantErr("cancelled", err, context.Canceled)
		f.release(f.lease("t"))
	}},
}

func (f *fixture) lease(thread string) checkpoint.Lease {
	f.Helper()
	lease, err := f.leaser().Lease(f.ctx, thread)
	if err != nil {
		f.Fatalf("lease of %q: %v", thread, err)
	}
	return lease
}

func (f *fixture) release(lease checkpoint.Lease) {
	f.Helper()
	if err := lease.Release(f.ctx); err != nil {
		f.Errorf("release: %v", err)
	}
}

// tooLarge puts a write over the limit and returns the error. If the store has no limit, it
// returns ErrTooLarge and puts nothing.
func (f *fixture) tooLarge(key checkpoint.Key) error {
	if f.limit() < 0 {
		return checkpoint.ErrTooLarge
	}
	return f.store.PutWrites(f.ctx, key, []checkpoint.Write{{Data: make([]byte, f.limit()+1)}})
}
