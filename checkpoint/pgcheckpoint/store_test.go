package pgcheckpoint_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

func TestStoreInATransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	outside := p.open(t)
	conn := p.conn(t)
	for _, commit := range []bool{false, true} {
		tx, err := conn.Begin(ctx)
		require.NoError(t, err)
		inside, err := pgcheckpoint.New(ctx, tx, p.options)
		require.NoError(t, err)
		putAll(t, inside, "t", 2)
		// A conflict does not abort the transaction.
		wantErr(t, "stale head", inside.Put(ctx, step("t", 3), stepID(1)), checkpoint.ErrConflict)
		lost := step("t", 9)
		lost.Parent = "none"
		wantErr(t, "no parent", inside.Put(ctx, lost, stepID(2)), checkpoint.ErrNotFound)
		wantErr(t, "used id", inside.Put(ctx, step("t", 1), stepID(2)), checkpoint.ErrConflict)
		wantNoErr(t, "prune", prune(inside, checkpoint.PrunePolicy{KeepLast: 1}))
		wantSteps(t, inside, "t", 1)
		if !commit {
			wantNoErr(t, "rollback", tx.Rollback(ctx))
			wantSteps(t, outside, "t", 0)
			continue
		}
		wantNoErr(t, "commit", tx.Commit(ctx))
		wantSteps(t, outside, "t", 1)
	}
}

func prune(store checkpoint.Pruner, p checkpoint.PrunePolicy) error {
	_, err := store.Prune(context.Background(), p)
	return err
}

func TestCallsOnOneConnectionAreSerialized(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.migrated(t, p.conn(t))
	failed := make(chan error)
	const threads = 8
	for i := range threads {
		go func() {
			failed <- store.Put(context.Background(), step(string(rune('a'+i)), 1), "")
		}()
	}
	for range threads {
		wantNoErr(t, "put", <-failed)
	}
	n := 0
	for info, err := range store.ListThreads(t.Context(), "") {
		require.NoError(t, err)
		wantSteps(t, store, info.ID, 1) // ListThreads does not hold the connection
		n++
	}
	assert.Equal(t, threads, n)
}

func TestTenantsAreSeparate(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	ann, bob := p, p
	ann.options.Tenant, bob.options.Tenant = "ann", "bob"
	a, b := ann.open(t), bob.open(t)
	putAll(t, a, "t", 2)
	_, err := b.Get(ctx, checkpoint.Key{Thread: "t", ID: stepID(1)})
	wantErr(t, "get", err, checkpoint.ErrNotFound)
	wantErr(t, "writes", b.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: stepID(1)}, []checkpoint.Write{write("a")}), checkpoint.ErrNotFound)
	wantErr(t, "put", b.Put(ctx, step("t", 3), stepID(2)), checkpoint.ErrConflict)
	wantErr(t, "copy", b.CopyThread(ctx, "t", "mine"), checkpoint.ErrNotFound)
	wantErr(t, "tag", b.Tag(ctx, checkpoint.Key{Thread: "t", ID: stepID(1)}, "x"), checkpoint.ErrNotFound)
	wantNoErr(t, "delete", b.DeleteThread(ctx, "t"))
	wantNoErr(t, "delete runs", b.DeleteRuns(ctx, "t", "run"))
	wantNoErr(t, "prune", prune(b, checkpoint.PrunePolicy{}))
	for c, err := range b.Find(ctx, pgcheckpoint.Search{}) {
		assert.Fail(t, "found a checkpoint of another tenant", "%q, error %v", c.ID, err)
	}
	st, err := b.Stats(ctx)
	require.NoError(t, err)
	assert.Zero(t, st.Threads)
	assert.Zero(t, st.Checkpoints)
	putAll(t, b, "t", 1)
	held := lease(t, b, "t")
	lease(t, a, "t")
	wantSteps(t, held, "t", 1)
	wantSteps(t, a, "t", 2)
}

func TestStatsDescribesTheTenant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	empty, err := store.Stats(ctx)
	require.NoError(t, err)
	assert.Zero(t, empty.Threads)
	assert.Zero(t, empty.Oldest)
	assert.NotZero(t, empty.Bytes)
	before := time.Now().Add(-time.Minute)
	putAll(t, store, "a", 3)
	putAll(t, store, "b", 2)
	st, err := store.Stats(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 2, st.Threads)
	assert.EqualValues(t, 5, st.Checkpoints)
	assert.NotZero(t, st.Bytes)
	assert.False(t, st.Oldest.Before(before))
	assert.False(t, st.Newest.Before(st.Oldest))
}

func TestPoolingDecidesTheQueryMode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url     string
		pooling pgcheckpoint.Pooling
		want    pgx.QueryExecMode
	}{
		"plain":               {"postgres://u@db.example.com/x", pgcheckpoint.Detect, pgx.QueryExecModeCacheStatement},
		"Supavisor's port":    {"postgres://u@db.example.com:6543/x", pgcheckpoint.Detect, pgx.QueryExecModeExec},
		"PgBouncer's port":    {"postgres://u@db.example.com:6432/x", pgcheckpoint.Detect, pgx.QueryExecModeExec},
		"a pooler's host":     {"postgres://u@aws-0-eu.pooler.example.com/x", pgcheckpoint.Detect, pgx.QueryExecModeExec},
		"a suffix":            {"postgres://u@ep-cool-pooler.example.com/x", pgcheckpoint.Detect, pgx.QueryExecModeExec},
		"a parameter":         {"postgres://u@db.example.com/x?pgbouncer=true&sslmode=disable", pgcheckpoint.Detect, pgx.QueryExecModeExec},
		"a parameter, unset":  {"postgres://u@db.example.com/x?pgbouncer=false", pgcheckpoint.Detect, pgx.QueryExecModeCacheStatement},
		"said to be one":      {"postgres://u@db.example.com/x", pgcheckpoint.Transaction, pgx.QueryExecModeExec},
		"said to be none":     {"postgres://u@db.example.com:6543/x", pgcheckpoint.Direct, pgx.QueryExecModeCacheStatement},
		"keywords and values": {"host=pooler.example.com user=u", pgcheckpoint.Detect, pgx.QueryExecModeExec},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := pgcheckpoint.PoolConfig(c.url, c.pooling)
			require.NoError(t, err)
			assert.Equal(t, c.want, config.ConnConfig.DefaultQueryExecMode)
			assert.NotContains(t, config.ConnConfig.RuntimeParams, "pgbouncer")
		})
	}
}

func TestInvalidOptionsAreAnError(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	pool := p.pool(t)
	for name, o := range map[string]pgcheckpoint.Options{
		"schema, injected":   {Schema: `weft"; DROP SCHEMA public; --`},
		"schema, empty name": {Schema: " "},
		"schema, digit":      {Schema: "1a"},
		"schema, a quote":    {Schema: "a$$b"}, // it would end the body of a function
		"pooling":            {Pooling: 9},
		"busy":               {Busy: -1},
		"busy wait":          {BusyWait: -1},
		"timeout":            {Timeout: -1},
		"tenant":             {Tenant: "a\x00b"},
	} {
		_, err := pgcheckpoint.New(ctx, pool, o)
		wantErr(t, name, err, checkpoint.ErrInvalid)
		wantErr(t, name, pgcheckpoint.Migrate(ctx, pool, o), checkpoint.ErrInvalid)
	}
	_, err := pgcheckpoint.New(ctx, nil, p.options)
	wantErr(t, "no database", err, checkpoint.ErrInvalid)
}
