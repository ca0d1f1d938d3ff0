package pgdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// tries is the maximum number of attempts for a statement that the database rolls back because
	// of other transactions.
	tries = 5

	minWait = 20 * time.Millisecond
	maxWait = 2 * time.Second
)

// Retries says when a failed call is repeated.
type Retries struct {
	// Patience is the time for which calls are repeated while the database does not answer.
	Patience time.Duration
	// Unreachable is the error for a database that has not answered.
	Unreachable error
	// Once means that no call is repeated.
	Once bool
}

// Do calls fn until it succeeds, until may returns false for its fault, or until the patience ends.
// After the fifth attempt, Do does not repeat a statement that was rolled back because of another
// transaction. Each attempt takes at most limit. Do waits a random time between attempts, so that
// clients do not all retry at the same time. The maximum of this time doubles after each attempt.
func (r *Retries) Do(ctx context.Context, limit time.Duration, may func(Fault) bool, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	until := time.Now().Add(r.Patience)
	for n := 1; ; n++ {
		err := within(ctx, limit, fn)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := FaultOf(err)
		again := !r.Once && may(f)
		switch {
		case (f == Refused || f == Lost) && (!again || !time.Now().Before(until)):
			return fmt.Errorf("%w: %w", r.Unreachable, err)
		case !again || f == Undone && n >= tries:
			return err
		}
		if err := Pause(ctx, min(minWait<<min(n, 16), maxWait)); err != nil {
			return err
		}
	}
}

// within calls fn with a context that ends after limit. The error distinguishes that end from the
// end of ctx.
func within(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := fn(inner)
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	if err != nil && inner.Err() != nil {
		return fmt.Errorf("no answer in %v: %w", limit, net.ErrClosed)
	}
	return err
}
