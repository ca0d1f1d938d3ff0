package pgmemory

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/pgdb"
)

const (
	// tries is the maximum number of attempts for a statement that the database rolls back because
	// of other transactions.
	tries = 5

	minWait = 20 * time.Millisecond
	maxWait = 2 * time.Second
)

// retry calls fn until it succeeds, a fault is not one of may, or the patience ends. It waits a
// random time between attempts, up to a limit that doubles, so that clients do not all retry at the
// same time.
func (l *link) retry(ctx context.Context, limit time.Duration, may func(pgdb.Fault) bool, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	until := time.Now().Add(l.patience)
	for n := 1; ; n++ {
		err := within(ctx, limit, fn)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := pgdb.FaultOf(err)
		lost := f == pgdb.Refused || f == pgdb.Lost
		if lost && (!l.again || !may(f) || !time.Now().Before(until)) {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		if !l.again || !may(f) || f == pgdb.Undone && n == tries {
			return err
		}
		if err := pgdb.Pause(ctx, min(minWait<<min(n, 16), maxWait)); err != nil {
			return err
		}
	}
}
