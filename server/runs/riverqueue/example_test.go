package riverqueue_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
)

// replicaOptions returns the options of a server that shares its stores with others. All stores use one pool. The thread
// of a run and its job have the same lease time.
func replicaOptions(ctx context.Context, pool *pgxpool.Pool, compile func(*pgcheckpoint.Store) (*graph.Graph, error)) (server.Options, error) {
	const lease = 10 * time.Second
	checkpoints, err := pgcheckpoint.New(ctx, pool, pgcheckpoint.Options{LeaseTime: lease})
	if err != nil {
		return server.Options{}, err
	}
	store, err := pgruns.New(ctx, pool, pgruns.Options{})
	if err != nil {
		return server.Options{}, err
	}
	g, err := compile(checkpoints)
	if err != nil {
		return server.Options{}, err
	}
	return server.Options{
		Graphs: map[string]*graph.Graph{"assistant": g},
		Runs:   store,
		Queue:  riverqueue.New(pool, riverqueue.Options{Lease: lease, UserRuns: 8, Priorities: map[string]int{"assistant": 1}}),
	}, nil
}

// Any number of processes can start this program on one database.
func ExampleNew() {
	ctx := context.Background()
	config, err := pgcheckpoint.PoolConfig(os.Getenv("DATABASE_URL"), pgcheckpoint.Detect)
	if err != nil {
		fmt.Println(err)
		return
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	_ = replicaOptions // pass its result to server.New
}

// A program that monitors a service reads the queue without a server.
func ExampleQueue_Stats() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	stats, err := riverqueue.New(pool, riverqueue.Options{}).Stats(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(stats.Waiting, stats.Held, stats.Running, stats.Scheduled, stats.Oldest)
}
