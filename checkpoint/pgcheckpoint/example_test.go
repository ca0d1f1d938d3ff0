package pgcheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Scripts returns the migrations as plain SQL, for programs that apply them with another tool.
func ExampleScripts() {
	scripts, err := pgcheckpoint.Scripts("agents")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range scripts {
		fmt.Println(s.Name, strings.Contains(s.SQL, `"agents".cp_`))
	}
	// Output:
	// 001_checkpoint true
	// 002_functions true
	// 003_load true
	// 004_writes true
	// 005_status true
	// 006_status_of_old_threads true
}

// PoolConfig detects a transaction pooler by its address.
func ExamplePoolConfig() {
	for _, address := range []string{
		"postgres://app@db.example.com/app",
		"postgres://app@aws-0-eu-west-1.pooler.example.com:6543/app",
	} {
		config, err := pgcheckpoint.PoolConfig(address, pgcheckpoint.Detect)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(config.ConnConfig.Host, "-", config.ConnConfig.DefaultQueryExecMode)
	}
	// Output:
	// db.example.com - cache statement
	// aws-0-eu-west-1.pooler.example.com - exec
}

func ExampleOpen() {
	ctx := context.Background()
	store, err := pgcheckpoint.Open(ctx, os.Getenv("DATABASE_URL"), pgcheckpoint.Options{Tenant: "acme"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	note := state.Append[string]("note")
	b := graph.New("desk", note)
	b.Node("write", func(context.Context, state.View) (state.Update, error) {
		return state.Update{note.Put("hello")}, nil
	})
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = g.Thread("user-42").Invoke(ctx, graph.Begin())
	if errors.Is(err, pgcheckpoint.ErrThreadBusy) {
		fmt.Println("another run has the thread")
	}
}

// New also returns a store that writes in a transaction of the caller.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		store, err := pgcheckpoint.New(ctx, tx, pgcheckpoint.Options{})
		if err != nil {
			return err
		}
		if err := store.DeleteThread(ctx, "user-42"); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM account WHERE id = $1", 42)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
}

// Before can set values for row-level security policies. It runs in every call.
func ExampleOptions_before() {
	options := pgcheckpoint.Options{Before: func(ctx context.Context, b *pgx.Batch) error {
		b.Queue("SELECT set_config('role', 'app', true), set_config('app.user', $1, true)", "ann")
		return nil
	}}
	_, err := pgcheckpoint.New(context.Background(), nil, options)
	fmt.Println(errors.Is(err, checkpoint.ErrInvalid))
	// Output: true
}

// Find searches the metadata of all threads, as text or as numbers.
func ExampleStore_Find() {
	ctx := context.Background()
	store, err := pgcheckpoint.Open(ctx, os.Getenv("DATABASE_URL"), pgcheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	for c, err := range store.Find(ctx, pgcheckpoint.Search{
		Where:  []pgcheckpoint.Condition{pgcheckpoint.Text("team", pgcheckpoint.Equal, "support"), pgcheckpoint.Number("score", pgcheckpoint.Less, 3)},
		Latest: true,
	}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.Thread, c.Metadata["score"])
	}
}

// Prune keeps a checkpoint if it has a tag, whatever the policy.
func ExampleStore_Tag() {
	ctx := context.Background()
	store, err := pgcheckpoint.Open(ctx, os.Getenv("DATABASE_URL"), pgcheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if err := store.Tag(ctx, checkpoint.Key{Thread: "user-42", ID: "0190b5e4-7c1a-7e2f-8a3b-000000000001"}, "signed"); err != nil {
		fmt.Println(err)
	}
	removed, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 20, KeepPending: true})
	fmt.Println(removed, err)
}

// Repair brings a thread with damaged rows back to its last intact checkpoint. Unpark
// allows another run of a thread whose runs have died.
func ExampleStore_Repair() {
	ctx := context.Background()
	store, err := pgcheckpoint.Open(ctx, os.Getenv("DATABASE_URL"), pgcheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	const thread = "user-42"
	_, err = store.Get(ctx, checkpoint.Key{Thread: thread})
	if errors.Is(err, checkpoint.ErrCorrupt) {
		removed, err := store.Repair(ctx, thread)
		fmt.Println(removed, "steps could not be read", err)
	}
	_, err = store.Lease(ctx, thread) // as a run does
	if errors.Is(err, pgcheckpoint.ErrParked) {
		fmt.Println("its runs die:", err) // fix the cause, and then:
		err = store.Unpark(ctx, thread)
	}
	if err != nil {
		fmt.Println(err)
	}
}
