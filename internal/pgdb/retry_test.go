package pgdb_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgdb"
)

var errUnreachable = errors.New("unreachable")

func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	undone, silent := &pgconn.PgError{Code: "40001"}, errors.New("a mistake")
	for name, c := range map[string]struct {
		err    error // of each attempt; nil means no answer
		may    func(pgdb.Fault) bool
		once   bool
		good   int // the attempt that succeeds
		calls  int // the attempts that are made, or 0 for more than five
		result error
	}{
		"success":                      {io.EOF, pgdb.AnyFault, false, 1, 1, nil},
		"success after faults":         {io.EOF, pgdb.AnyFault, false, 3, 3, nil},
		"a mistake":                    {silent, pgdb.AnyFault, false, 9, 1, silent},
		"rolled back":                  {undone, pgdb.Unsent, false, 5, 5, nil},
		"rolled back too often":        {undone, pgdb.Unsent, false, 9, 5, undone},
		"may have taken effect":        {io.EOF, pgdb.Unsent, false, 9, 1, errUnreachable},
		"unreachable":                  {io.EOF, pgdb.AnyFault, false, 99, 0, errUnreachable},
		"no answer":                    {nil, pgdb.AnyFault, false, 99, 0, errUnreachable},
		"once, rolled back":            {undone, pgdb.AnyFault, true, 9, 1, undone},
		"once, the connection is lost": {io.EOF, pgdb.AnyFault, true, 9, 1, errUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := pgdb.Retries{Patience: 30 * time.Second, Unreachable: errUnreachable, Once: c.once}
				calls := 0
				err := r.Do(t.Context(), time.Second, c.may, func(ctx context.Context) error {
					if calls++; calls == c.good {
						return nil
					}
					if c.err == nil {
						<-ctx.Done()
						return ctx.Err()
					}
					return c.err
				})
				require.ErrorIs(t, err, c.result)
				if c.calls == 0 {
					assert.Greater(t, calls, 5)
					return
				}
				assert.Equal(t, c.calls, calls)
			})
		})
	}
}

// A statement that is rolled back after five lost connections is not sent again.
func TestRetriesEndIfRolledBackLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := pgdb.Retries{Patience: 30 * time.Second, Unreachable: errUnreachable}
		undone, calls := &pgconn.PgError{Code: "40001"}, 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := r.Do(ctx, time.Second, pgdb.AnyFault, func(context.Context) error {
			if calls++; calls <= 5 {
				return io.EOF
			}
			return undone
		})
		require.ErrorIs(t, err, undone)
		assert.Equal(t, 6, calls)
	})
}

func TestRetriesEndWithTheirContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := pgdb.Retries{Patience: time.Hour, Unreachable: errUnreachable}
		begun := time.Now()
		err := r.Do(ctx, time.Second, pgdb.AnyFault, func(context.Context) error { return io.EOF })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(begun))
		require.ErrorIs(t, r.Do(ctx, time.Second, pgdb.AnyFault, func(context.Context) error { return nil }), context.DeadlineExceeded)
	})
}
