package supacheckpoint_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// notes creates a table of the application. A policy lets a user see only their own rows.
func notes(t *testing.T, p place) {
	t.Helper()
	do(t, p, `CREATE TABLE weft.note (owner uuid NOT NULL, body text)`)
	do(t, p, `ALTER TABLE weft.note ENABLE ROW LEVEL SECURITY`)
	do(t, p, `CREATE POLICY own ON weft.note TO authenticated USING (owner = (SELECT auth.uid()))`)
	do(t, p, `GRANT SELECT, INSERT ON weft.note TO authenticated, service_role`)
}

// note returns a function for Do that inserts a note of a user.
func note(p place, owner, body string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, p.sql(`INSERT INTO weft.note VALUES ($1::text::uuid, $2)`), owner, body)
		return err
	}
}

// bodies returns the texts of the notes that a store sees, sorted.
func bodies(t *testing.T, p place, store *supacheckpoint.Store) string {
	t.Helper()
	var all string
	err := store.Do(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, p.sql(`SELECT coalesce(string_agg(body, ' ' ORDER BY body), '') FROM weft.note`)).Scan(&all)
	})
	require.NoError(t, err)
	return all
}

// A transaction of Do has the privileges of the store. It is committed as a whole or not at all.
func TestDoHasTheRightsOfTheStoreAndIsAtomic(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			notes(t, p)
			pool := p.pool(t, 1)
			store, err := supacheckpoint.New(t.Context(), pool, p.options)
			require.NoError(t, err)
			anns, bobs := as(t, store, ann), as(t, store, bob)
			for _, c := range []struct {
				name  string
				store *supacheckpoint.Store
				fn    func(context.Context, pgx.Tx) error
				want  error
			}{
				{"one's own", anns, note(p, ann, "mine"), nil},
				{"another user's", anns, note(p, bob, "forged"), supacheckpoint.ErrDenied},
				{"an invalid id", anns, note(p, "ann", "lost"), checkpoint.ErrInvalid},
				{"no privilege", anns, func(ctx context.Context, tx pgx.Tx) error {
					_, err := tx.Exec(ctx, p.sql(`DELETE FROM weft.note`))
					return err
				}, supacheckpoint.ErrDenied},
				{"an error after a row", anns, func(ctx context.Context, tx pgx.Tx) error {
					return errors.Join(note(p, ann, "undone")(ctx, tx), errAny)
				}, errAny},
				{"no row", anns, func(ctx context.Context, tx pgx.Tx) error {
					return tx.QueryRow(ctx, p.sql(`SELECT body FROM weft.note WHERE body = 'none'`)).Scan(new(string))
				}, pgx.ErrNoRows},
				{"a transaction within", bobs, func(ctx context.Context, tx pgx.Tx) error {
					return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return note(p, bob, "within")(ctx, tx) })
				}, nil},
				{"a table that is not there", anns, func(ctx context.Context, tx pgx.Tx) error {
					_, err := tx.Exec(ctx, p.sql(`SELECT FROM weft.nothing`))
					return err
				}, errAny},
			} {
				err := c.store.Do(t.Context(), c.fn)
				if errors.Is(c.want, errAny) {
					assert.Error(t, err, c.name)
				} else {
					assert.ErrorIs(t, err, c.want, c.name)
				}
				if err != nil {
					assert.True(t, strings.HasPrefix(err.Error(), "supacheckpoint: do: "), "%s: got error %v", c.name, err)
					assert.NotErrorIs(t, err, supacheckpoint.ErrNotMigrated, c.name)
				}
				wantNoIdentity(t, pool)
			}
			assert.Equal(t, "mine", bodies(t, p, anns))
			assert.Equal(t, "within", bodies(t, p, bobs))
			// The service sees all notes, also with a store for the threads of one user.
			assert.Equal(t, "mine within", bodies(t, p, forUser(t, store, ann)))
		})
	}
}

// A cancelled or panicking transaction leaves no rows. Its connection keeps no identity.
func TestDoRollsBackWhenCancelledOrPanicking(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			notes(t, p)
			pool := p.pool(t, 1)
			store, err := supacheckpoint.New(t.Context(), pool, p.options)
			require.NoError(t, err)
			anns := as(t, store, ann)
			ctx, cancel := context.WithCancel(t.Context())
			err = anns.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
				defer cancel()
				return note(p, ann, "cancelled")(ctx, tx)
			})
			assert.ErrorIs(t, err, context.Canceled)
			assert.ErrorIs(t, anns.Do(ctx, note(p, ann, "too late")), context.Canceled)
			func() {
				defer func() {
					assert.NotNil(t, recover())
				}()
				_ = anns.Do(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
					assert.NoError(t, note(p, ann, "panicked")(ctx, tx))
					panic("as asked")
				})
			}()
			var kept pgx.Tx
			err = anns.Do(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				kept = tx
				return errors.Join(tx.Commit(ctx), note(p, ann, "after the commit")(ctx, tx))
			})
			assert.ErrorIs(t, err, pgx.ErrTxClosed)
			assert.ErrorIs(t, note(p, ann, "kept")(t.Context(), kept), pgx.ErrTxClosed, "a transaction used after Do")
			wantNoIdentity(t, pool)
			assert.Empty(t, bodies(t, p, anns))
		})
	}
}

// The function of Do is called once, also after a transient error. Do fails on a closed store.
func TestDoDoesNotRetryItsFunction(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	notes(t, p)
	var said bytes.Buffer
	p.options.Retry = supacheckpoint.Retry{Max: 2, Delay: time.Millisecond}
	p.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
	store := p.open(t)
	anns, calls := as(t, store, ann), 0
	err := anns.Do(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		calls++
		if _, err := tx.Exec(ctx, `DO $$ BEGIN RAISE EXCEPTION 'as asked' USING ERRCODE = '40001'; END $$`); err != nil {
			return err
		}
		return nil
	})
	assert.Error(t, err)
	assert.Equal(t, 1, calls)
	assert.Empty(t, said.String())
	store.Close()
	assert.Error(t, anns.Do(t.Context(), note(p, ann, "never")), "a closed store")
}
