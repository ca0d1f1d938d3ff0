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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// notes makes a table of the project's own, whose rows are those of users.
func notes(t *testing.T, p place) {
	t.Helper()
	do(t, p, `CREATE TABLE weft.note (owner uuid NOT NULL, body text)`)
	do(t, p, `ALTER TABLE weft.note ENABLE ROW LEVEL SECURITY`)
	do(t, p, `CREATE POLICY own ON weft.note TO authenticated USING (owner = (SELECT auth.uid()))`)
	do(t, p, `GRANT SELECT, INSERT ON weft.note TO authenticated, service_role`)
}

func note(p place, owner, body string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, p.sql(`INSERT INTO weft.note VALUES ($1::text::uuid, $2)`), owner, body)
		return err
	}
}

// bodies are those of the notes that somebody sees.
func bodies(t *testing.T, p place, store *supacheckpoint.Store) string {
	t.Helper()
	var all string
	err := store.Do(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, p.sql(`SELECT coalesce(string_agg(body, ' ' ORDER BY body), '') FROM weft.note`)).Scan(&all)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What is done in a transaction is done with the rights of the store, and takes effect as a whole.
func TestDo(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			notes(t, p)
			pool := p.pool(t, 1)
			store, err := supacheckpoint.New(t.Context(), pool, p.options)
			if err != nil {
				t.Fatal(err)
			}
			anns, bobs := as(t, store, ann), as(t, store, bob)
			for _, c := range []struct {
				name  string
				store *supacheckpoint.Store
				fn    func(context.Context, pgx.Tx) error
				want  error
			}{
				{"one's own", anns, note(p, ann, "mine"), nil},
				{"another user's", anns, note(p, bob, "forged"), supacheckpoint.ErrDenied},
				{"what is no id", anns, note(p, "ann", "lost"), checkpoint.ErrInvalid},
				{"no right", anns, func(ctx context.Context, tx pgx.Tx) error {
					_, err := tx.Exec(ctx, p.sql(`DELETE FROM weft.note`))
					return err
				}, supacheckpoint.ErrDenied},
				{"an error behind a row", anns, func(ctx context.Context, tx pgx.Tx) error {
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
				if errors.Is(c.want, errAny) && err == nil || !errors.Is(c.want, errAny) && !errors.Is(err, c.want) {
					t.Errorf("%s: got error %v want %v", c.name, err, c.want)
				}
				if err != nil && (!strings.HasPrefix(err.Error(), "supacheckpoint: do: ") || errors.Is(err, supacheckpoint.ErrNotMigrated)) {
					t.Errorf("%s: got error %v", c.name, err)
				}
				wantNoIdentity(t, pool)
			}
			// The service has its own rights, also for the threads of a user: it sees all.
			if got := bodies(t, p, anns) + "," + bodies(t, p, bobs) + "," + bodies(t, p, forUser(t, store, ann)); got != "mine,within,mine within" {
				t.Errorf("they see %q", got)
			}
		})
	}
}

// Who gives up or panics in a transaction leaves neither rows nor rights behind.
func TestDoBreaksOff(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			notes(t, p)
			pool := p.pool(t, 1)
			store, err := supacheckpoint.New(t.Context(), pool, p.options)
			if err != nil {
				t.Fatal(err)
			}
			anns := as(t, store, ann)
			ctx, cancel := context.WithCancel(t.Context())
			err = anns.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
				defer cancel()
				return note(p, ann, "cancelled")(ctx, tx)
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v want %v", err, context.Canceled)
			}
			if err := anns.Do(ctx, note(p, ann, "too late")); !errors.Is(err, context.Canceled) {
				t.Errorf("got error %v want %v", err, context.Canceled)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("it did not panic")
					}
				}()
				_ = anns.Do(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
					if err := note(p, ann, "panicked")(ctx, tx); err != nil {
						t.Error(err)
					}
					panic("as asked")
				})
			}()
			var kept pgx.Tx
			if err := anns.Do(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
				kept = tx
				return errors.Join(tx.Commit(ctx), note(p, ann, "behind it")(ctx, tx))
			}); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("behind a commit: got error %v want %v", err, pgx.ErrTxClosed)
			}
			if err := note(p, ann, "kept")(t.Context(), kept); !errors.Is(err, pgx.ErrTxClosed) {
				t.Errorf("a transaction that was kept: got error %v want %v", err, pgx.ErrTxClosed)
			}
			wantNoIdentity(t, pool)
			if got := bodies(t, p, anns); got != "" {
				t.Errorf("there is %q", got)
			}
		})
	}
}

// To begin is tried again, and what a transaction does is not.
func TestDoTriesToBegin(t *testing.T) {
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
	if err == nil || calls != 1 || said.Len() != 0 {
		t.Errorf("got %d calls, error %v, log %s", calls, err, said.String())
	}
	store.Close()
	if err := anns.Do(t.Context(), note(p, ann, "never")); err == nil {
		t.Error("a store that is closed begins a transaction")
	}
}
