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
	// renewQuery and releaseQuery take tenant, thread, owner and epoch.
	renewQuery = `UPDATE weft.cp_thread SET until = clock_timestamp() + make_interval(secs => $5::float8)
	WHERE tenant = $1::text AND id = $2::text AND owner = $3::uuid AND epoch = $4::int RETURNING key`

	releaseQuery = `SELECT weft.cp_release($1::text, $2::text, $3::uuid, $4::int)`
)

// A grant is what became of a lease that was asked for.
type grant struct {
	given  bool
	epoch  int32
	parked bool
	runs   int64 // without a step
}

// A lease passes everything on to its store with its owner and epoch, which the
// database checks against the row of the thread. Between steps it sends a sign of
// life.
type lease struct {
	*Store
	thread string
	holder pgtype.UUID
	epoch  int32

	beating context.Context // ends with the lease
	stop    context.CancelFunc
	beats   sync.WaitGroup // of at most one

	mu       sync.Mutex
	released bool
	first    *loaded // the newest checkpoint as long as it is that, for the first Get
	signed   time.Time
	timer    *time.Timer
}

// Lease implements [checkpoint.Leaser]. It takes one round trip, in which the newest
// checkpoint of the thread is read, too, for the Get that follows. A lease holds
// until it is released, or for [Options.LeaseTime] after the last sign of life,
// which every Put and PutWrites is; between them it sends its own. What happens when
// another run has the thread is up to [Options.Busy]. A thread whose runs die again and
// again is an [ErrParked].
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
	l := &lease{Store: s, thread: thread, holder: pgtype.UUID{Valid: true}}
	// Who would guess an owner could write in its place.
	if _, err := rand.Read(l.holder.Bytes[:]); err != nil {
		return nil, err
	}
	start := time.Now()
	for wait := minWait; ; wait = min(2*wait, maxBusyWait) {
		given, err := l.acquire(ctx, false)
		if err != nil {
			return nil, err
		}
		if given {
			return l.begin(start), nil
		}
		switch {
		case s.busy == Interrupt || s.busy == Rollback:
			return l.takeOver(ctx)
		case s.busy == Reject, s.busyWait > 0 && time.Since(start) >= s.busyWait:
			return nil, ErrThreadBusy
		}
		if err := pgdb.Pause(ctx, wait); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrThreadBusy, err)
		}
	}
}

// maxBusyWait bounds how long a thread can be free before one that waits looks.
const maxBusyWait = 250 * time.Millisecond

// acquire reports false when another run has the thread.
func (l *lease) acquire(ctx context.Context, steal bool) (bool, error) {
	var found *loaded
	text := l.sql(leaseQuery)
	args := []any{l.tenant, l.thread, l.holder, l.leaseTime.Seconds(), steal, l.recoveries}
	err := l.retry(ctx, func(bool) error {
		found = &loaded{}
		return l.link.send(ctx, l.timeout, text, args, found.read)
	})
	switch {
	case err != nil:
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			// It may have been given all the same.
			l.giveBack(ctx)
		}
		return false, err
	case found.grant.parked:
		return false, parkedError(found.grant.runs)
	case !found.grant.given:
		return false, nil
	}
	l.epoch, l.first = found.grant.epoch, found
	return true, nil
}

// takeOver takes the thread from the run that has it.
func (l *lease) takeOver(ctx context.Context) (*lease, error) {
	start := time.Now()
	given, err := l.acquire(ctx, true)
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, ErrThreadBusy
	}
	l.begin(start)
	if l.busy == Interrupt {
		return l, nil
	}
	stolen := l.epoch - 1
	_, err = l.remove(ctx, l.thread, removal{batch: maxBatch, mark: func(nodes []node) {
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

// begin starts the signs of life, of which the first was sent at start.
func (l *lease) begin(start time.Time) *lease {
	l.signed = start
	l.beating, l.stop = context.WithCancel(context.Background())
	if !l.link.again {
		return l // nobody sees a sign before the caller's transaction ends
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.beats.Add(1)
	l.timer = time.AfterFunc(l.leaseTime/3, l.beat)
	return l
}

// beat renews the lease unless a step has done so lately. One that fails is made
// good by the next: the time is a third of what the lease holds.
func (l *lease) beat() {
	defer l.beats.Done()
	l.mu.Lock()
	next := l.leaseTime/3 - time.Since(l.signed)
	l.mu.Unlock()
	if next <= 0 {
		start, held := time.Now(), false
		args := []any{l.tenant, l.thread, l.holder, l.epoch, l.leaseTime.Seconds()}
		err := l.query(l.beating, renewQuery, args, func(pgx.Rows) error { held = true; return nil })
		if err == nil && !held {
			return // it is lost, as the next step will find
		}
		if err == nil {
			l.sign(start)
		}
		next = l.leaseTime / 3
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released {
		l.beats.Add(1)
		l.timer.Reset(next)
	}
}

// sign notes that the lease was renewed by a call that began at start.
func (l *lease) sign(start time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.signed = start
}

// forget drops what was read with the lease.
func (l *lease) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = nil
}

// Release implements [checkpoint.Lease]. When ctx ends, it goes on for a moment: where
// the database answers, the thread is given back, and else it is free once the lease
// has run out.
func (l *lease) Release(ctx context.Context) error {
	l.mu.Lock()
	done := l.released
	l.released, l.first = true, nil
	if !done && l.timer != nil && l.timer.Stop() {
		l.beats.Done()
	}
	l.mu.Unlock()
	if done {
		return nil
	}
	l.stop()
	l.beats.Wait()
	inner, cancel := lingering(ctx, giveBackTime)
	defer cancel()
	args := []any{l.tenant, l.thread, l.holder, l.epoch}
	if err := l.query(inner, releaseQuery, args, ignoreRow); err != nil {
		return l.fail("release", checkpoint.Key{Thread: l.thread}, err)
	}
	return nil
}

// giveBackTime is how long a call that was cancelled takes to give a thread back, at
// most: a busy database has answered by then, and one that is silent will not.
const giveBackTime = 500 * time.Millisecond

// lingering returns a context that ends some time after ctx.
func lingering(ctx context.Context, linger time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(linger, cancel) })
	return inner, func() {
		stop()
		cancel()
	}
}

// giveBack ends a lease that was perhaps given, under whatever epoch. It is tried
// once: a lease ends by itself, too.
func (l *lease) giveBack(ctx context.Context) {
	ctx, cancel := lingering(ctx, giveBackTime)
	defer cancel()
	_ = l.link.query(ctx, l.sql(giveBackQuery), []any{l.tenant, l.thread, l.holder}, ignoreRow)
}

// giveBackQuery takes tenant, thread and owner.
const giveBackQuery = `SELECT weft.cp_release(t.tenant, t.id, t.owner, t.epoch) FROM weft.cp_thread t
	WHERE t.tenant = $1::text AND t.id = $2::text AND t.owner = $3::uuid`
