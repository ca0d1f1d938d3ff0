package pgmemory_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// public is locked by a test that uses the schema public, since all tests share its names.
var public sync.Mutex

// publicPlace migrates a new schema with MigratePublic, and returns the schema and a pool of its owner.
// It waits until no other test uses the schema public.
func publicPlace(t *testing.T) (place, *pgxpool.Pool) {
	t.Helper()
	public.Lock()
	t.Cleanup(public.Unlock)
	p := supabasePlace(t)
	owner, err := pgxpool.New(context.Background(), p.direct)
	require.NoError(t, err)
	t.Cleanup(owner.Close)
	for range 2 { // the second run has no effect
		require.NoError(t, pgmemory.MigratePublic(context.Background(), owner, p.options))
	}
	return p, owner
}

// request runs a statement as PostgREST does, with the rights of a user, and returns the first
// column of its rows.
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

// Scripts that are run by hand, with each statement in its own transaction as in psql, have the
// same effect as MigratePublic. They can be run again.
func TestScriptsByHand(t *testing.T) {
	t.Parallel()
	public.Lock()
	t.Cleanup(public.Unlock)
	ctx := context.Background()
	database := supatest.Database(t, nil)
	p := place{url: database, direct: database, options: pgmemory.Options{Schema: pgtest.SchemaIn(t, database)}}
	own, err := pgmemory.Scripts(p.options.Schema)
	assert.NoError(t, err, "scripts")
	more, err := pgmemory.SupabaseScripts(p.options.Schema)
	assert.NoError(t, err, "scripts")
	conn := p.conn(t)
	for _, s := range slices.Repeat(append(own, more...), 2) {
		for _, statement := range pgtest.Statements(s.SQL) {
			_, err := conn.Exec(ctx, statement, pgx.QueryExecModeExec) // this mode allows only one statement
			// PostgreSQL refuses to change a row of its catalog that another session, such as
			// autovacuum, has just changed. A person runs the statement again.
			for range 3 {
				if err == nil || !strings.Contains(err.Error(), "tuple concurrently updated") {
					break
				}
				t.Logf("%s: run again: %v", s.Name, err)
				_, err = conn.Exec(ctx, statement, pgx.QueryExecModeExec)
			}
			assert.NoError(t, err, s.Name)
		}
	}
	pool := p.pool(t)
	assert.NoError(t, pgmemory.MigratePublic(ctx, pool, p.options), "migrate")
	db, err := pgmemory.New(ctx, pool, p.options)
	assert.NoError(t, err, "new")
	_, err = db.Facts().Apply(ctx, driver.Scope{User: annID}, []driver.FactChange{adding("tea", 1, 2)})
	assert.NoError(t, err, "apply")
	got, err := request[string](pool, annID, `SELECT content FROM match_memories($1::text::extensions.vector, 1)`, "[1,2]")
	require.NoError(t, err)
	assert.Len(t, got, 1)
}

// Programs in Go recall facts that programs in other languages write, and vice versa.
func ExampleMigratePublic() {
	public.Lock()
	defer public.Unlock()
	ctx := context.Background()
	tb := &exampleTB{}
	address := supatest.Database(tb, nil) // a database like that of a Supabase project
	options := pgmemory.Options{Schema: pgtest.SchemaIn(tb, address)}
	defer func() {
		for _, drop := range tb.drops {
			drop()
		}
	}()
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		log.Panic(err)
	}
	defer pool.Close()
	if err := pgmemory.MigratePublic(ctx, pool, options); err != nil {
		log.Panic(err)
	}
	if _, err := pool.Exec(ctx, `INSERT INTO agent_memories (user_id, content) VALUES ($1, 'Ann drinks tea')`, annID); err != nil {
		log.Panic(err)
	}
	db, err := pgmemory.New(ctx, pool, options)
	if err != nil {
		log.Panic(err)
	}
	facts, err := memory.New(db, memory.Options{})
	if err != nil {
		log.Panic(err)
	}
	for f, err := range facts.List(ctx, driver.FactQuery{Reach: driver.Scope{User: annID}.Only()}) {
		fmt.Println(f.Content, err)
	}
	// Output:
	// Ann drinks tea <nil>
}
