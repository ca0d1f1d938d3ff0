package pgcheckpoint_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// expire makes all leases expire, as if their processes had died.
func expire(t *testing.T, p place) {
	t.Helper()
	do(t, p, `UPDATE weft.cp_thread SET until = clock_timestamp() - interval '1 second' WHERE owner IS NOT NULL`)
}

// A process that was paused until another process took its thread cannot store a step.
func TestPausedProcessCannotStore(t *testing.T) {
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
	c := newest(t, store, "t")
	assert.Equal(t, stepID(2), c.ID)
	assert.Empty(t, c.Writes)
	wantNoErr(t, "release of what was lost", paused.Release(ctx))
	put(t, other, "t", 3)
}

func TestExpiredLeaseIsValidUntilAnotherRunTakesIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	held := lease(t, store, "t")
	expire(t, p)
	put(t, held, "t", 1)
	_, err := store.Lease(context.Background(), "t")
	wantErr(t, "after the step", err, pgcheckpoint.ErrThreadBusy)
}

func TestHeartbeatRenewsTheLease(t *testing.T) {
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
	assert.Fail(t, "the lease was not renewed for 10 seconds")
}

// A lease that waits for a commit of another transaction reads the committed checkpoint.
func TestLeaseReadsTheNewestCheckpoint(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 1)
	tx, err := p.conn(t).Begin(ctx)
	require.NoError(t, err)
	inside, err := pgcheckpoint.New(ctx, tx, p.options)
	require.NoError(t, err)
	put(t, inside, "t", 2) // locks the row of the thread
	leased := make(chan checkpoint.Lease)
	go func() {
		l, err := store.Lease(ctx, "t")
		assert.NoError(t, err)
		leased <- l
	}()
	for range 200 {
		if ask[bool](t, p, `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
			AND transactionid IN (SELECT transactionid FROM pg_locks WHERE pid = $1))`, int(tx.Conn().PgConn().PID())) {
			break
		}
	}
	require.NoError(t, tx.Commit(ctx))
	l := <-leased
	assert.Equal(t, stepID(2), newest(t, l, "t").ID)
	wantNoErr(t, "release", l.Release(ctx))
}

// A thread has had the maximum number of leases since its newest step, and the last lease expires while another run
// requests the thread. The other run does not get a lease, since the thread could then stop one process more than the
// limit allows: the thread is busy, and then parked.
func TestLeaseThatExpiresMeanwhileParksTheThread(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	put(t, lease(t, store, "t"), "t", 1)
	do(t, p, `UPDATE weft.cp_thread SET epoch = epoch + 5, owner = gen_random_uuid(), until = clock_timestamp() + interval '1 hour'`)
	do(t, p, `ALTER FUNCTION weft.cp_lease RENAME TO cp_lease_after`)
	do(t, p, `CREATE FUNCTION weft.cp_lease(text, text, uuid, float8, boolean) RETURNS SETOF weft.cp_part LANGUAGE plpgsql AS $$
		BEGIN
			UPDATE weft.cp_thread SET until = clock_timestamp() - interval '1 second';
			RETURN QUERY SELECT * FROM weft.cp_lease_after($1, $2, $3, $4, $5);
		END $$`)
	_, err := store.Lease(t.Context(), "t")
	wantErr(t, "as of the start of the request", err, pgcheckpoint.ErrThreadBusy)
	expire(t, p)
	_, err = store.Lease(t.Context(), "t")
	wantErr(t, "afterwards", err, pgcheckpoint.ErrParked)
	assert.ErrorContains(t, err, "the last 6 runs stored no step")
}

func TestRequestForALeaseReturnsTheErrorOfItsContext(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "t", 1)
	tx, err := p.conn(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), p.sql(`UPDATE weft.cp_thread SET owner = NULL`)) // each request waits for this row
	require.NoError(t, err)
	for want, ends := range map[error]func(context.Context) (context.Context, context.CancelFunc){
		context.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Millisecond)
		},
		context.Canceled: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := ends(t.Context())
		_, err := store.Lease(ctx, "t")
		cancel()
		wantErr(t, "blocked", err, want)
	}
	require.NoError(t, tx.Rollback(t.Context()))
}

// After a process was killed, its thread stays busy until the lease ends. The error says when.
func TestBusyErrorSaysWhenTheLeaseEnds(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.options.LeaseTime = 2 * time.Hour
	lease(t, p.open(t), "t")
	for _, left := range []time.Duration{90 * time.Minute, 0} {
		do(t, p, fmt.Sprintf(`UPDATE weft.cp_thread SET until = clock_timestamp() + interval '%d seconds'`, int(left.Seconds())+10))
		_, err := p.open(t).Lease(t.Context(), "t")
		wantErr(t, "busy", err, pgcheckpoint.ErrThreadBusy)
		said := regexp.MustCompile(`the thread is free in (\S+), and ConflictWait`).FindStringSubmatch(err.Error())
		require.Len(t, said, 2, err)
		free, parsed := time.ParseDuration(said[1])
		require.NoError(t, parsed)
		assert.InDelta(t, (left + 10*time.Second).Seconds(), free.Seconds(), 10, err)
	}
}

// If the thread is busy although its lease has just ended, the error does not say that the thread is free in 0 s. If a
// run cannot take the thread over, the error does not recommend waiting.
func TestBusyErrorWithoutAnEndOfTheLease(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	lease(t, p.open(t), "t")
	expire(t, p)
	do(t, p, `CREATE FUNCTION weft.keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`)
	do(t, p, `CREATE TRIGGER keep BEFORE UPDATE ON weft.cp_thread FOR EACH ROW EXECUTE FUNCTION weft.keep()`)
	for _, policy := range []pgcheckpoint.BusyPolicy{pgcheckpoint.Reject, pgcheckpoint.Interrupt} {
		p.options.Busy = policy
		_, err := p.open(t).Lease(t.Context(), "t")
		wantErr(t, "busy", err, pgcheckpoint.ErrThreadBusy)
		assert.NotContains(t, err.Error(), "ConflictWait", policy)
	}
	do(t, p, `DROP TRIGGER keep ON weft.cp_thread`)
}

func TestBusyWaitWaitsUntilTheThreadIsFree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	first := lease(t, p.open(t), "t")
	p.options.Busy, p.options.BusyWait = pgcheckpoint.Wait, time.Millisecond
	_, err := p.open(t).Lease(ctx, "t")
	wantErr(t, "after the time", err, pgcheckpoint.ErrThreadBusy)
	assert.NotContains(t, err.Error(), "ConflictWait", "it has waited")

	p.options.BusyWait = 0
	patient := p.open(t)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err = patient.Lease(short, "t")
	wantErr(t, "when its context ends", err, context.DeadlineExceeded)
	assert.NotContains(t, err.Error(), "ConflictWait", "it has waited")

	go func() { wantNoErr(t, "release", first.Release(ctx)) }()
	put(t, lease(t, patient, "t"), "t", 1)
}

func TestBusyInterruptTakesTheThread(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	first := lease(t, p.open(t), "t")
	put(t, first, "t", 1)
	p.options.Busy = pgcheckpoint.Interrupt
	second := lease(t, p.open(t), "t")
	wantErr(t, "the one that was interrupted", first.Put(ctx, step("t", 2), stepID(1)), pgcheckpoint.ErrFenced)
	assert.Equal(t, stepID(1), newest(t, second, "t").ID)
	put(t, second, "t", 2)
}

func TestBusyRollbackRemovesTheCheckpointsOfTheOtherRun(t *testing.T) {
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
	c := newest(t, second, "t")
	assert.Equal(t, stepID(2), c.ID)
	assert.Len(t, c.Lineage, 2)
	wantSteps(t, store, "t", 2)
	put(t, second, "t", 3)
}

func TestDeletedThreadKeepsItsLease(t *testing.T) {
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
	assert.Zero(t, ask[int](t, p, `SELECT count(*)::int FROM weft.cp_thread`))
}
