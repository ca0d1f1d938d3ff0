package pgruns_test

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/server/runs/pgruns"
)

// The checkpoints of the graphs and the runs of the server use one pool.
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
	if err := pgcheckpoint.Migrate(ctx, pool, pgcheckpoint.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	if err := pgruns.Migrate(ctx, pool, pgruns.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	checkpoints, err := pgcheckpoint.New(ctx, pool, pgcheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := pgruns.New(ctx, pool, pgruns.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = checkpoints, store // use them as graph.Options.Checkpoints and server.Options.Runs
}
