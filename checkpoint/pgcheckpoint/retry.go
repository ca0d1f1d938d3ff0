package pgcheckpoint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/pgdb"
)

const (
	// maxConflictTries is the maximum number of times that a statement is sent if the
	// database aborts it because of concurrent transactions.
	maxConflictTries = 5

	minWait = 20 * time.Millisecond
	maxWait = 2 * time.Second

	// lateTry is the time limit of a call after the database has been silent for longer
	// than the patience of its run. Such a call gets a single try.
	lateTry = 500 * time.Millisecond
)

// A fault is a class of errors. It decides whether another try can help.
type fault int

const (
	faultPermanent fault = iota // another try cannot help
	faultAborted                // the database aborted the transaction because of others
	faultLost                   // the connection is lost, or there was none
)

// faultOf classifies an error. An error of a context is permanent. So is [ErrUnreachable],
// because the patience of the call is used up.
func faultOf(err error) fault {
	if errors.Is(err, ErrUnreachable) {
		return faultPermanent
	}
	switch pgdb.FaultOf(err) {
	case pgdb.Undone:
		return faultAborted
	case pgdb.Refused, pgdb.Lost:
		return faultLost
	case pgdb.Permanent:
	}
	if errors.Is(err, errCircuitOpen) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return faultLost
	}
	return faultPermanent
}

// A try is one attempt of a call.
type try struct {
	// limit is the maximum time of the try.
	limit time.Duration
	// repeated is set when an earlier try may have taken effect although it failed.
	repeated bool
}

// retry calls fn until it succeeds or another try cannot help. It returns
// [ErrUnreachable] if the database does not answer before the patience ends. The first try
// may take longer than the patience. The argument limit is the maximum time of one try. The
// wait between tries is random and its maximum doubles, so that callers do not retry at the
// same time.
func (s *Store) retry(ctx context.Context, limit time.Duration, fn func(t try) error) error {
	if err := s.link.lock(ctx); err != nil {
		return err
	}
	defer s.link.unlock()
	start, repeated := time.Now(), false
	for n := 1; ; n++ {
		deadline := s.outage.until(start, s.patience)
		err := s.link.pass(ctx, deadline, func() error {
			return fn(try{limit: s.tryLimit(limit, n, deadline), repeated: repeated})
		})
		s.outage.record(start, err)
		if err == nil {
			return nil
		}
		wait := min(minWait<<min(n, 16), maxWait)
		switch f := faultOf(err); {
		case !s.link.retries || f == faultPermanent, f == faultAborted && n >= maxConflictTries:
			return err
		case f == faultLost:
			left := time.Until(s.outage.until(start, s.patience))
			if left <= 0 || s.link.dead() {
				return fmt.Errorf("%w: %w", ErrUnreachable, err)
			}
			wait = min(wait, left)
			repeated = repeated || !errors.Is(err, errCircuitOpen)
		}
		if err := pgdb.Pause(ctx, wait); err != nil {
			return err
		}
	}
}

// tryLimit returns the time limit of the n-th try of a call. The argument limit is the limit
// of the call. The first try gets this limit if the run has no outage. Other tries end at the
// deadline, when the patience ends. A limit of more than [Options.Timeout] is for maintenance
// of a whole thread, to which the patience does not apply.
func (s *Store) tryLimit(limit time.Duration, n int, deadline time.Time) time.Duration {
	least := minWait
	switch {
	case limit > s.timeout:
		return limit
	case n == 1 && !s.outage.active():
		return limit
	case n == 1:
		least = lateTry
	}
	return min(limit, max(time.Until(deadline), least))
}

// pass waits until the circuit allows a call, and calls fn. It returns [ErrUnreachable] if
// the deadline passes first.
func (l *link) pass(ctx context.Context, deadline time.Time, fn func() error) error {
	if l.circuit == nil {
		return fn()
	}
	probe, err := l.circuit.enter(ctx, deadline)
	if err != nil {
		return err
	}
	if probe {
		defer l.circuit.leave()
	}
	return fn()
}

// dead reports whether the store works on a single connection that is closed. The store
// cannot replace it.
func (l *link) dead() bool {
	switch db := l.db.(type) {
	case *pgx.Conn:
		return db.IsClosed()
	case *pgxpool.Conn:
		return db.Conn().IsClosed()
	}
	return false
}

// An outage is the time during which the calls of one run got no answer. The calls share
// one patience. With a nil outage, each call has its own patience.
type outage struct {
	mu    sync.Mutex
	since time.Time // zero while there is no outage
}

// record records the result of a try. The argument start is the time at which the call of the
// try began. An answer ends the outage, even if the answer is an error.
func (o *outage) record(start time.Time, err error) {
	if o == nil {
		return
	}
	_, answered := errors.AsType[*pgconn.PgError](err)
	answered = answered && faultOf(err) != faultLost
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil || answered:
		o.since = time.Time{}
	case faultOf(err) != faultLost && !errors.Is(err, ErrUnreachable):
	case o.since.IsZero() || start.Before(o.since):
		o.since = start
	}
}

func (o *outage) active() bool {
	if o == nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero()
}

// until returns the time at which the patience ends for a call. The argument start is the time
// at which the call began.
func (o *outage) until(start time.Time, patience time.Duration) time.Time {
	if o == nil {
		return start.Add(patience)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() && o.since.Before(start) {
		start = o.since
	}
	return start.Add(patience)
}

// classify wraps an error of the database in the matching sentinel error.
func classify(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	var sentinel error
	switch e.Code {
	case "42P01", "42883", "3F000": // undefined table, function, schema
		sentinel = ErrNotMigrated
	case "54000": // program limit exceeded
		sentinel = checkpoint.ErrTooLarge
	case "XX001", "XX002": // data, index corrupted
		sentinel = checkpoint.ErrCorrupt
	default:
		if !pgdb.IsFull(e) {
			return pgdb.Unavailable(err)
		}
		sentinel = ErrFull
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}
