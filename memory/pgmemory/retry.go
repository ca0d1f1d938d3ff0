package pgmemory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/internal/pgdb"
)

const (
	// tries is the maximum number of attempts for a statement that the database rolls back because
	// of other transactions.
	tries = 5

	minWait = 20 * time.Millisecond
	maxWait = 2 * time.Second
)

// A fault is the kind of a failure. It decides whether a call is retried.
type fault int

const (
	faultOther   fault = iota // a retry does not help
	faultUndone               // the database rolled back because of another transaction
	faultRefused              // there was no connection, or nothing was sent
	faultLost                 // the connection was lost; the statement may have taken effect
)

func faultOf(err error) fault {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return faultOther
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01": // serialization_failure, deadlock_detected
			return faultUndone
		case "57P03", "53300": // the server starts; too many connections
			return faultRefused
		case "57P01", "57P02": // the server stops, has crashed
			return faultLost
		}
		return faultOther
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return faultRefused
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return faultLost
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, lost) {
			return faultLost
		}
	}
	return faultOther
}

// anyFault and unsent report whether a call is retried after a fault: anyFault after every
// temporary fault, and unsent only if the statement had no effect.
func anyFault(f fault) bool { return f != faultOther }
func unsent(f fault) bool   { return f == faultUndone || f == faultRefused }

// retry calls fn until it succeeds, a fault is not one of may, or the patience ends. It waits a
// random time between attempts, up to a limit that doubles, so that clients do not all retry at the
// same time.
func (l *link) retry(ctx context.Context, limit time.Duration, may func(fault) bool, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	until := time.Now().Add(l.patience)
	for n := 1; ; n++ {
		err := within(ctx, limit, fn)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := faultOf(err)
		lost := f == faultRefused || f == faultLost
		if lost && (!l.again || !may(f) || !time.Now().Before(until)) {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		if !l.again || !may(f) || f == faultUndone && n == tries {
			return err
		}
		if err := pgdb.Pause(ctx, min(minWait<<min(n, 16), maxWait)); err != nil {
			return err
		}
	}
}
