package pgcheckpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/pgdb"
)

const (
	// renewQuery and releaseQuery have the parameters tenant, thread, owner and epoch.
	// renewQuery also has the lease time.
	renewQuery = `UPDATE weft.cp_thread SET until = clock_timestamp() + make_interval(secs => $5::float8)
	WHERE tenant = $1::text AND id = $2::text AND owner = $3::uuid AND epoch = $4::int RETURNING key`

	releaseQuery = `SELECT weft.cp_release($1::text, $2::text, $3::uuid, $4::int)`
)

// A grant is the database's answer to a request for a lease.
type grant struct {
	given  bool // false if another run holds the thread, or if it is parked
	epoch  int32
	parked bool
	runs   int64         // of a parked thread: the number of leases since its newest step
	left   time.Duration // of a thread that another run holds: until its lease ends
}

// A lease sends its owner and epoch with every call. The database compares them with the
// row of the thread. Between steps, the lease sends heartbeats.
type lease struct {
	*Store // has an outage, so that the calls of the run share one patience
	base   *Store
	thread string
	owner  pgtype.UUID
	epoch  int32

	alive      context.Context // ends with the lease
	stop       context.CancelFunc
	heartbeats sync.WaitGroup // has at most one heartbeat, scheduled or running

	mu       sync.Mutex
	released bool
	newest   *loaded // read with the lease, for the first Get; nil after a write
	renewed  time.Time
	timer    *time.Timer
}

// Lease implements [checkpoint.Leaser]. It takes one round trip, which also reads the
// newest checkpoint of the thread for the Get that usually follows. A lease is held
// until it is released, or for [Options.LeaseTime] after it was last renewed. Every
// Put and PutWrites renews it, and so does a heartbeat between them. [Options.Busy]
// decides what happens when another run holds the thread. Lease returns [ErrParked] if the
// runs of the thread died repeatedly.
func (s *Store) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l, err := s.lease(ctx, thread)
	if err != nil {
		return nil, s.fail("lease", checkpoint.Key{Thread: thread}, err)
	}
	return l, nil
}

func (s *Store) lease(ctx context.Context, thread string) (*lease, error) {
	if err := checkKey(checkpoint.Key{Thread: thread}); err != nil {
		return nil, err
	}
	own := *s
	own.outage = &outage{}
	l := &lease{Store: &own, base: s, thread: thread, owner: pgtype.UUID{Valid: true}}
	// The owner is random, because a client that can guess it could write under the lease.
	if _, err := rand.Read(l.owner.Bytes[:]); err != nil {
		return nil, err
	}
	start := time.Now()
	for wait := minWait; ; wait = min(2*wait, maxBusyWait) {
		g, err := l.acquire(ctx, false)
		if err != nil {
			return nil, err
		}
		if g.given {
			return l.begin(start), nil
		}
		switch {
		case s.busy == Interrupt || s.busy == Rollback:
			return l.takeOver(ctx)
		case s.busy == Reject:
			return nil, rejection(g.left)
		case s.busyWait > 0 && time.Since(start) >= s.busyWait:
			return nil, ErrThreadBusy
		}
		if err := pgdb.Pause(ctx, wait); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrThreadBusy, err)
		}
	}
}

// rejection returns an [ErrThreadBusy] that says when the lease of the other run ends. A run that is alive renews its lease.
func rejection(left time.Duration) error {
	if left = left.Round(time.Second); left <= 0 {
		return ErrThreadBusy
	}
	return fmt.Errorf("%w; if its process died, the thread is free in %v, and ConflictWait waits for that", ErrThreadBusy, left)
}

// maxBusyWait is the maximum time between two requests of a run that waits for a thread.
const maxBusyWait = 250 * time.Millisecond

// acquire requests the lease. It is not given if another run holds the thread. If steal is
// set, acquire takes the thread from that run.
func (l *lease) acquire(ctx context.Context, steal bool) (grant, error) {
	var found *loaded
	text := l.sql(leaseQuery)
	args := []any{l.tenant, l.thread, l.owner, l.leaseTime.Seconds(), steal, l.recoveries}
	// The database may still execute a request that the client gave up, even after a later release on another connection.
	// So a cancelled request waits for its answer as long as a release does.
	sending, cancel := lingering(ctx, releaseGrace)
	defer cancel()
	err := l.retry(ctx, l.timeout, func(t try) error {
		found = &loaded{}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := l.link.send(sending, t.limit, text, args, found.read)
		if err != nil && ctx.Err() != nil {
			return ctx.Err() // sending is cancelled also if a deadline has ended ctx
		}
		return err
	})
	switch {
	case err != nil:
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			l.releaseAny(ctx) // the request may have taken effect
		}
		return grant{}, err
	case found.grant.parked:
		return grant{}, parkedError(found.grant.runs)
	case !found.grant.given:
		return found.grant, nil
	}
	l.epoch, l.newest = found.grant.epoch, found
	if found.differsFromHead() {
		// The recorded head was read before the thread was locked, so it may be older than
		// the newest checkpoint. Discard both: Get reads them in one snapshot.
		l.newest = nil
	}
	return found.grant, nil
}

// takeOver takes the thread from the run that holds it. With [Rollback] it removes the
// checkpoints of that run.
func (l *lease) takeOver(ctx context.Context) (*lease, error) {
	start := time.Now()
	g, err := l.acquire(ctx, true)
	if err != nil {
		return nil, err
	}
	if !g.given {
		return nil, ErrThreadBusy
	}
	l.begin(start)
	if l.busy == Interrupt {
		return l, nil
	}
	stolen := l.epoch - 1
	_, err = l.remove(ctx, &removal{lock: lockThread, threads: l.thread, batch: unlimitedBatch, mark: func(nodes []node) {
		for i := range nodes {
			nodes[i].remove = nodes[i].epoch == stolen
		}
	}})
	if err != nil {
		return nil, errors.Join(err, l.Release(ctx))
	}
	l.forget()
	return l, nil
}

// begin starts the heartbeats. The argument start is the time at which the request for the
// lease began.
func (l *lease) begin(start time.Time) *lease {
	l.renewed = start
	l.alive, l.stop = context.WithCancel(context.Background())
	if !l.link.retries {
		return l // a heartbeat has no effect before the caller's transaction commits
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heartbeats.Add(1)
	l.timer = time.AfterFunc(l.leaseTime/3, l.heartbeat)
	return l
}

// heartbeat renews the lease unless a step has renewed it recently. The interval is a third
// of the lease time. So after one failed heartbeat, the next is still in time.
func (l *lease) heartbeat() {
	defer l.heartbeats.Done()
	l.mu.Lock()
	next := l.leaseTime/3 - time.Since(l.renewed)
	l.mu.Unlock()
	if next <= 0 {
		start, held := time.Now(), false
		args := []any{l.tenant, l.thread, l.owner, l.epoch, l.leaseTime.Seconds()}
		err := l.base.query(l.alive, renewQuery, args, func(pgx.Rows) error { held = true; return nil })
		if err == nil && !held {
			return // the lease is lost, and the next step returns ErrFenced
		}
		if err == nil {
			l.setRenewed(start)
		}
		next = l.leaseTime / 3
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released {
		l.heartbeats.Add(1)
		l.timer.Reset(next)
	}
}

// setRenewed records that a call has renewed the lease. The argument start is the time at
// which the call began.
func (l *lease) setRenewed(start time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = start
}

// forget drops the checkpoint that was read with the lease.
func (l *lease) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = nil
}

// Release implements [checkpoint.Lease]. If ctx ends, Release continues for at most half a
// second. If the database does not answer by then, the thread becomes free when the lease
// time ends.
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	done := l.released
	l.released, l.newest = true, nil
	if !done && l.timer != nil && l.timer.Stop() {
		l.heartbeats.Done()
	}
	l.mu.Unlock()
	if done {
		return nil
	}
	l.stop()
	l.heartbeats.Wait()
	inner, cancel := lingering(ctx, releaseGrace)
	defer cancel()
	args := []any{l.tenant, l.thread, l.owner, l.epoch}
	if err := l.query(inner, releaseQuery, args, ignoreRow); err != nil {
		return l.fail("release", checkpoint.Key{Thread: l.thread}, err)
	}
	return nil
}

// releaseGrace is the maximum time of a release after the end of its context. It is enough
// for a busy database.
const releaseGrace = 500 * time.Millisecond

// lingering returns a context that ends when the time linger has passed after the end of ctx.
func lingering(ctx context.Context, linger time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(linger, cancel) })
	return inner, func() {
		stop()
		cancel()
	}
}

// releaseAny releases a lease that the database may have granted. It does not need the
// epoch. It tries only once, because a lease also expires.
func (l *lease) releaseAny(ctx context.Context) {
	ctx, cancel := lingering(ctx, releaseGrace)
	defer cancel()
	_ = l.link.query(ctx, l.sql(releaseAnyQuery), []any{l.tenant, l.thread, l.owner}, ignoreRow)
}

// releaseAnyQuery has the parameters tenant, thread and owner.
const releaseAnyQuery = `SELECT weft.cp_release(t.tenant, t.id, t.owner, t.epoch) FROM weft.cp_thread t
	WHERE t.tenant = $1::text AND t.id = $2::text AND t.owner = $3::uuid`
