package pgcheckpoint_test

import (
	"context"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// expire lets the lease of a thread run out, as it does when its process is gone.
func expire(t *testing.T, p place) {
	t.Helper()
	do(t, p, `UPDATE weft.cp_thread SET until = clock_timestamp() - interval '1 second' WHERE owner IS NOT NULL`)
}

// A worker that was paused until its lease ran out, and lost the thread to another one,
// stores nothing when it wakes up.
func TestPausedWorker(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 1)
	paused := lease(t, store, "t")
	_, err := store.Lease(ctx, "t")
	wantErr(t, "while it is held", err, pgcheckpoint.ErrThreadBusy)
	expire(t, p)
	other := lease(t, p.open(t), "t")
	put(t, other, "t", 2)

	wantErr(t, "put", paused.Put(ctx, step("t", 3), stepID(2)), pgcheckpoint.ErrFenced)
	wantErr(t, "put of its own view", paused.Put(ctx, step("t", 2), stepID(1)), pgcheckpoint.ErrFenced)
	key := checkpoint.Key{Thread: "t", ID: stepID(2)}
	wantErr(t, "writes", paused.PutWrites(ctx, key, []checkpoint.Write{write("a")}), pgcheckpoint.ErrFenced)
	wantErr(t, "delete", paused.DeleteThread(ctx, "t"), pgcheckpoint.ErrFenced)
	wantErr(t, "as any conflict", paused.Put(ctx, step("t", 3), stepID(2)), checkpoint.ErrConflict)
	if c := newest(t, store, "t"); c.ID != stepID(2) || len(c.Writes) != 0 {
		t.Errorf("the newest is %q with %d writes", c.ID, len(c.Writes))
	}
	wantNoErr(t, "release of what was lost", paused.Release(ctx))
	put(t, other, "t", 3)
}

// A lease that ran out and that nobody took is as good as before.
func TestExpiredLeaseGoesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	held := lease(t, store, "t")
	expire(t, p)
	put(t, held, "t", 1)
	_, err := store.Lease(context.Background(), "t")
	wantErr(t, "after the step", err, pgcheckpoint.ErrThreadBusy)
}

// Between its steps a lease sends signs of life.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.options.LeaseTime = time.Second
	lease(t, p.open(t), "t")
	until := func() time.Time { return ask[time.Time](t, p, `SELECT until FROM weft.cp_thread`) }
	begun := until()
	for range 200 {
		do(t, p, `SELECT pg_sleep(0.05)`)
		if now := until(); now.Sub(begun) > 1500*time.Millisecond {
			return
		}
	}
	t.Error("the lease was not renewed for 10 seconds")
}

// What is read with a lease is of the moment at which it was given, also when it had
// to wait for a commit.
func TestLeaseAfterCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 1)
	tx, err := p.conn(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := pgcheckpoint.New(ctx, tx, p.options)
	if err != nil {
		t.Fatal(err)
	}
	put(t, inside, "t", 2) // holds the row of the thread
	leased := make(chan checkpoint.Lease)
	go func() {
		l, err := store.Lease(ctx, "t")
		if err != nil {
			t.Error(err)
		}
		leased <- l
	}()
	for range 200 {
		if ask[bool](t, p, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
			AND transactionid IN (SELECT transactionid FROM pg_locks WHERE pid = $1))`, int(tx.Conn().PgConn().PID())) {
			break
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	l := <-leased
	if c := newest(t, l, "t"); c.ID != stepID(2) {
		t.Errorf("the lease read %q want %q", c.ID, stepID(2))
	}
	wantNoErr(t, "release", l.Release(ctx))
}

func TestBusyWait(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	first := lease(t, p.open(t), "t")
	p.options.Busy, p.options.BusyWait = pgcheckpoint.Wait, time.Millisecond
	_, err := p.open(t).Lease(ctx, "t")
	wantErr(t, "after the time", err, pgcheckpoint.ErrThreadBusy)

	p.options.BusyWait = 0
	patient := p.open(t)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err = patient.Lease(short, "t")
	wantErr(t, "when its context ends", err, context.DeadlineExceeded)

	go func() { wantNoErr(t, "release", first.Release(ctx)) }()
	put(t, lease(t, patient, "t"), "t", 1)
}

func TestBusyInterrupt(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	first := lease(t, p.open(t), "t")
	put(t, first, "t", 1)
	p.options.Busy = pgcheckpoint.Interrupt
	second := lease(t, p.open(t), "t")
	wantErr(t, "the one that was interrupted", first.Put(ctx, step("t", 2), stepID(1)), pgcheckpoint.ErrFenced)
	if c := newest(t, second, "t"); c.ID != stepID(1) {
		t.Errorf("got %q want what the first has stored, %q", c.ID, stepID(1))
	}
	put(t, second, "t", 2)
}

func TestBusyRollback(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 2)
	first := lease(t, store, "t")
	put(t, first, "t", 3)
	put(t, first, "t", 4)
	p.options.Busy = pgcheckpoint.Rollback
	second := lease(t, p.open(t), "t")
	wantErr(t, "the one that was interrupted", first.Put(ctx, step("t", 5), stepID(4)), pgcheckpoint.ErrFenced)
	if c := newest(t, second, "t"); c.ID != stepID(2) || len(c.Lineage) != 2 {
		t.Errorf("got %q with %d deltas, want what was there before, %q", c.ID, len(c.Lineage), stepID(2))
	}
	wantSteps(t, store, "t", 2)
	put(t, second, "t", 3)
}

// Deleting a thread under its lease keeps the lease.
func TestDeleteUnderLease(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 3)
	held := lease(t, store, "t")
	wantNoErr(t, "delete", held.DeleteThread(ctx, "t"))
	_, err := held.Get(ctx, checkpoint.Key{Thread: "t"})
	wantErr(t, "get", err, checkpoint.ErrNotFound)
	_, err = store.Lease(ctx, "t")
	wantErr(t, "another lease", err, pgcheckpoint.ErrThreadBusy)
	wantNoErr(t, "release", held.Release(ctx))
	if n := ask[int](t, p, `SELECT count(*)::int FROM weft.cp_thread`); n != 0 {
		t.Errorf("%d threads are left", n)
	}
}
