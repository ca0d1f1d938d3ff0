package pgcheckpoint_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// A store in a caller's transaction is part of it.
func TestInTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	outside := p.open(t)
	conn := p.conn(t)
	for _, commit := range []bool{false, true} {
		tx, err := conn.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		inside, err := pgcheckpoint.New(ctx, tx, p.options)
		if err != nil {
			t.Fatal(err)
		}
		putAll(t, inside, "t", 2)
		// What is refused does not spoil the transaction.
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

// On a single connection, callers take turns.
func TestOnConnection(t *testing.T) {
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
		if err != nil {
			t.Fatal(err)
		}
		wantSteps(t, store, info.ID, 1) // the connection is free between pages
		n++
	}
	if n != threads {
		t.Errorf("got %d threads want %d", n, threads)
	}
}

// Tenants share the tables and see nothing of each other.
func TestTenants(t *testing.T) {
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
		t.Errorf("found %q, error %v", c.ID, err)
	}
	if st, err := b.Stats(ctx); err != nil || st.Threads != 0 || st.Checkpoints != 0 {
		t.Errorf("got %+v, error %v want nothing", st, err)
	}
	putAll(t, b, "t", 1)
	held := lease(t, b, "t")
	lease(t, a, "t")
	wantSteps(t, held, "t", 1)
	wantSteps(t, a, "t", 2)
}

func TestStats(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	if st, err := store.Stats(ctx); err != nil || st.Threads != 0 || !st.Oldest.IsZero() || st.Bytes == 0 {
		t.Errorf("of an empty store: got %+v, error %v", st, err)
	}
	before := time.Now().Add(-time.Minute)
	putAll(t, store, "a", 3)
	putAll(t, store, "b", 2)
	st, err := store.Stats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if st.Threads != 2 || st.Checkpoints != 5 || st.Bytes == 0 || st.Oldest.Before(before) || st.Newest.Before(st.Oldest) {
		t.Errorf("got %+v want 2 threads, 5 checkpoints", st)
	}
}

func TestPooling(t *testing.T) {
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
			if err != nil {
				t.Fatal(err)
			}
			if got := config.ConnConfig.DefaultQueryExecMode; got != c.want {
				t.Errorf("got %v want %v", got, c.want)
			}
			if _, ok := config.ConnConfig.RuntimeParams["pgbouncer"]; ok {
				t.Error("the server would be asked for a parameter that it does not know")
			}
		})
	}
}

func TestInvalidOptions(t *testing.T) {
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
