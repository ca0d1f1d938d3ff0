package pgcheckpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/pgdb"
)

const (
	// tries is how often a statement is sent that the database undoes because
	// of others.
	tries = 5

	minWait = 20 * time.Millisecond
	maxWait = 2 * time.Second
)

// A fault is what kind of failure an error is, and so what helps.
type fault int

const (
	faultOther  fault = iota // nothing helps
	faultUndone              // the database undid the transaction because of others
	faultLost                // the connection is lost, or there was none
)

// faultOf looks at an error. Those of a context are other, and what was given up.
func faultOf(err error) fault {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return faultOther
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01": // serialization_failure, deadlock_detected
			return faultUndone
		case "57P01", "57P02", "57P03", "53300": // the server stops, has crashed, starts; too many connections
			return faultLost
		}
		return faultOther
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return faultLost
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return faultLost
	}
	for _, lost := range []error{errOpened, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, lost) {
			return faultLost
		}
	}
	return faultOther
}

// retry calls fn until it succeeds or trying is of no use. Again says that an
// earlier call may have taken effect all the same. Waits are random up to a bound
// that doubles, so that those who failed together do not come back together.
func (s *Store) retry(ctx context.Context, fn func(again bool) error) error {
	if err := s.link.take(ctx); err != nil {
		return err
	}
	defer s.link.give()
	until, again := time.Now().Add(s.patience), false
	for n := 1; ; n++ {
		err := s.link.try(ctx, until, func() error { return fn(again) })
		if err == nil {
			return nil
		}
		switch f := faultOf(err); {
		case !s.link.again || f == faultOther, f == faultUndone && n == tries:
			return err
		case f == faultLost && !time.Now().Before(until):
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		case f == faultLost && !errors.Is(err, errOpened):
			again = true
		}
		if err := pgdb.Pause(ctx, min(minWait<<min(n, 16), maxWait)); err != nil {
			return err
		}
	}
}

// try calls fn when the circuit lets it.
func (l *link) try(ctx context.Context, until time.Time, fn func() error) error {
	if l.circuit == nil {
		return fn()
	}
	probe, err := l.circuit.enter(ctx, until)
	if err != nil {
		return err
	}
	if probe {
		defer l.circuit.leave()
	}
	return fn()
}

// classify adds the sentinel that an error of the database stands for.
func classify(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	var sentinel error
	switch e.Code {
	case "42P01", "42883", "3F000": // undefined table, function, schema
		sentinel = ErrNotMigrated
	case "53100", "53200", "53400": // disk full, out of memory, a configured limit
		sentinel = ErrFull
	case "54000": // program limit exceeded
		sentinel = checkpoint.ErrTooLarge
	case "XX001", "XX002": // data, index corrupted
		sentinel = checkpoint.ErrCorrupt
	default:
		return err
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}
