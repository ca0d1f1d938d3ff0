package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// stores keep the states of threads, and the records and event logs of the server.
type stores struct {
	checkpoints checkpoint.Store
	runs        runs.Store
	queue       runs.Queue // nil unless several processes may use the stores
	close       func()
}

// lease is the time after which other processes take over the runs of a dead process.
const lease = 10 * time.Second

// openStores opens a PostgreSQL database, or a SQLite file, or memory.
func openStores(ctx context.Context, url, file string, log *slog.Logger) (*stores, error) {
	switch {
	case url != "":
		return openPostgres(ctx, url, log)
	case file != "":
		c, err := sqlitecheckpoint.Open(ctx, file, sqlitecheckpoint.Options{})
		if err != nil {
			return nil, err
		}
		r, err := sqliteruns.Open(ctx, file, sqliteruns.Options{})
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return &stores{c, r, nil, func() { _ = errors.Join(r.Close(), c.Close()) }}, nil
	}
	return &stores{memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), nil, func() {}}, nil
}

// openPostgres opens the stores and the queue that any number of processes share.
func openPostgres(ctx context.Context, url string, log *slog.Logger) (*stores, error) {
	config, err := pgcheckpoint.PoolConfig(url, pgcheckpoint.Detect)
	if err != nil {
		return nil, err
	}
	config.MaxConns = max(config.MaxConns, 16)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	k, err := postgresStores(ctx, pool, log)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return k, nil
}

func postgresStores(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) (*stores, error) {
	o := pgcheckpoint.Options{LeaseTime: lease}
	if err := errors.Join(pgcheckpoint.Migrate(ctx, pool, o), pgruns.Migrate(ctx, pool, pgruns.Options{})); err != nil {
		return nil, err
	}
	c, err := pgcheckpoint.New(ctx, pool, o)
	if err != nil {
		return nil, err
	}
	r, err := pgruns.New(ctx, pool, pgruns.Options{})
	if err != nil {
		return nil, err
	}
	queue := riverqueue.New(pool, riverqueue.Options{Lease: lease, Listen: os.Getenv("LISTEN_URL"), Logger: log})
	return &stores{c, r, queue, pool.Close}, nil
}
