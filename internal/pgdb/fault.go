package pgdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/internal/unavailable"
)

// A Fault is the kind of a failure of a statement. It decides whether the statement is sent again.
type Fault int

// The kinds of failures.
const (
	Permanent Fault = iota // a retry does not help
	Undone                 // the database rolled back because of another transaction
	Refused                // there was no connection, or nothing was sent
	Lost                   // the connection was lost; the statement may have taken effect
)

// FaultOf classifies an error. The end of a context is permanent.
func FaultOf(err error) Fault {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Permanent
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "08P01": // protocol_violation
			_, connecting := errors.AsType[*pgconn.ConnectError](err)
			return faultOfPooler(e, connecting)
		case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
			return Undone
		case "57P03", "53300": // the server starts; too many connections
			return Refused
		case "57P01", "57P02": // the server stops, has crashed
			return Lost
		}
		return Permanent
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return Refused
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return Lost
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, lost) {
			return Lost
		}
	}
	return Permanent
}

// faultOfPooler classifies a message with which PgBouncer closes a connection. All these messages have the same code.
// PostgreSQL uses this code for messages that it cannot read, and does not close the connection.
func faultOfPooler(e *pgconn.PgError, connecting bool) Fault {
	if e.Severity != "FATAL" {
		return Permanent
	}
	for _, text := range []string{
		"server login has been failing", // the database cannot be reached; PgBouncer waits for server_login_retry
		"cannot connect to server",
		"query_wait_timeout", // no connection to the database was free
		"no more connections allowed",
	} {
		if strings.Contains(e.Message, text) {
			return Refused
		}
	}
	if connecting { // such as a database that PgBouncer does not know
		return Permanent
	}
	return Lost // such as "server conn crashed?"
}

// AnyFault reports whether a fault is temporary. It is for statements that may take effect twice.
func AnyFault(f Fault) bool { return f != Permanent }

// Unsent reports whether a statement had no effect, so that any statement can be sent again.
func Unsent(f Fault) bool { return f == Undone || f == Refused }

// The errors of a database that accepts no changes.
var (
	// ErrReadOnly means that the database is read-only: it is a standby, or a setting makes it so.
	ErrReadOnly = unavailable.New("the database is read-only")
	// ErrFull means that the database has no free disk space or memory, or has reached a limit of its configuration.
	ErrFull = unavailable.New("the database is full")
)

// Unavailable wraps an error in [ErrReadOnly] or [ErrFull] if its code says so.
func Unavailable(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
	case IsReadOnly(e):
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case IsFull(e):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// IsReadOnly reports whether the database has refused a change because it is read-only.
func IsReadOnly(e *pgconn.PgError) bool { return e.Code == "25006" }

// IsFull reports whether the database has run out of disk or memory, or a limit of its configuration is reached.
func IsFull(e *pgconn.PgError) bool {
	return e.Code == "53100" || e.Code == "53200" || e.Code == "53400"
}
