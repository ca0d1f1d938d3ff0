package pgmemory_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/pgmemory"
)

// public is held by a test of what is for programs in other languages, as all schemas share its names.
var public sync.Mutex

// publicPlace takes a schema with what is in schema public, and a pool for who owns it. It waits until no
// other test has one.
func publicPlace(t *testing.T) (place, *pgxpool.Pool) {
	t.Helper()
	public.Lock()
	t.Cleanup(public.Unlock)
	p := supabasePlace(t)
	owner, err := pgxpool.New(context.Background(), p.direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(owner.Close)
	for range 2 { // once more is no harm
		if err := pgmemory.MigrateSupabase(context.Background(), owner, p.options, false); err != nil {
			t.Fatal(err)
		}
	}
	return p, owner
}

// request runs a statement as PostgREST does, for somebody, and returns the first column of its rows.
func request[T any](pool *pgxpool.Pool, who, sql string, args ...any) (list []T, err error) {
	ctx := context.Background()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		if err := binding(who)(ctx, b); err != nil {
			return err
		}
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowTo[T])
		return err
	})
	return list, err
}
