package supacheckpoint

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// The sentinel errors of this package. Errors may also wrap those of packages checkpoint
// and pgcheckpoint.
var (
	// ErrNotConfigured means that no Supabase project is configured.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrnotconfigured.
	ErrNotConfigured = errors.New("no Supabase project is configured")
	// ErrAnonKey means that a key is the anon or a publishable key. A service role or
	// secret key is required.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerranonkey.
	ErrAnonKey = errors.New("this is the anon key, and a service role key is needed")
	// ErrKey means that a key does not belong to this project.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrkey.
	ErrKey = errors.New("not a key of this project")
	// ErrRole means that the store does not have the role for a call, or that a role is
	// not allowed. It wraps [checkpoint.ErrInvalid].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrrole.
	ErrRole = fmt.Errorf("role not allowed: %w", checkpoint.ErrInvalid)
	// ErrDenied means that the database denied access to a role, by its privileges or a
	// policy.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrdenied.
	ErrDenied = errors.New("not allowed by the database")
	// ErrToken means that a token is invalid. The error text gives the reason and does
	// not contain the token.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrtoken.
	ErrToken = errors.New("token refused")
	// ErrNotMigrated is [pgcheckpoint.ErrNotMigrated].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#supacheckpointerrnotmigrated.
	ErrNotMigrated = pgcheckpoint.ErrNotMigrated
)

// classify wraps an error of the database with the matching sentinel error.
func classify(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "42P01", "42883", "3F000": // undefined table, function, schema
			return fmt.Errorf("%w: %w", ErrNotMigrated, err)
		}
	}
	return refusal(err)
}

// refusal wraps an error of a caller's own statement with the matching sentinel error. A
// missing table of the caller is not [ErrNotMigrated].
func refusal(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "42501": // insufficient privilege, or a policy
			return fmt.Errorf("%w: %w", ErrDenied, err)
		case "22P05", "22021", "22P02", "22003": // a character or number that the database cannot store
			return fmt.Errorf("%w: %w", checkpoint.ErrInvalid, err)
		}
	}
	return err
}
