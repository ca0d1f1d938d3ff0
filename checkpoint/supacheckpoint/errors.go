package supacheckpoint

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// What errors of this package wrap besides those of packages checkpoint and
// pgcheckpoint.
var (
	// ErrNotConfigured says that the environment names no Supabase project.
	ErrNotConfigured = errors.New("no Supabase project is configured")
	// ErrAnonKey says that a key is the anon or publishable one, where the service
	// role's or a secret one is needed.
	ErrAnonKey = errors.New("this is the anon key, and a service role key is needed")
	// ErrKey says that a key is not one of this project.
	ErrKey = errors.New("not a key of this project")
	// ErrRole says that a role may not act for a user. It is a
	// [checkpoint.ErrInvalid].
	ErrRole = fmt.Errorf("role not allowed: %w", checkpoint.ErrInvalid)
	// ErrDenied says that the database refuses what the role or its policies do not
	// allow.
	ErrDenied = errors.New("not allowed by the database")
	// ErrToken says that a token was refused. What is wrong with it is in the
	// error's text, and the token is not.
	ErrToken = errors.New("token refused")
	// ErrNotMigrated is [pgcheckpoint.ErrNotMigrated].
	ErrNotMigrated = pgcheckpoint.ErrNotMigrated
)

// classify adds the sentinel that an error of the database stands for. The
// database's text names the table.
func classify(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "42P01", "42883", "3F000": // undefined table, function, schema
			return fmt.Errorf("%w: %w", ErrNotMigrated, err)
		}
	}
	return refusal(err)
}

// refusal adds the sentinel that an error of a caller's own statement stands for.
func refusal(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "42501": // insufficient privilege, also of a policy
			return fmt.Errorf("%w: %w", ErrDenied, err)
		case "22P05", "22021", "22P02", "22003": // a character or a number that the database can not keep
			return fmt.Errorf("%w: %w", checkpoint.ErrInvalid, err)
		}
	}
	return err
}
