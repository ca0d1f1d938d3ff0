package main

import (
	"context"
	"errors"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// stores keep the states of threads, and the records and event logs of the server.
type stores struct {
	checkpoints checkpoint.Store
	runs        runs.Store
	close       func()
}

// openStores opens a PostgreSQL database, or a SQLite file, or memory.
func openStores(ctx context.Context, url, file string) (*stores, error) {
	switch {
	case url != "":
		c, err := pgcheckpoint.Open(ctx, url, pgcheckpoint.Options{})
		if err != nil {
			return nil, err
		}
		r, err := pgruns.Open(ctx, url, pgruns.Options{})
		if err != nil {
			c.Close()
			return nil, err
		}
		return &stores{c, r, func() { r.Close(); c.Close() }}, nil
	case file != "":
		c, err := sqlitecheckpoint.Open(ctx, file, sqlitecheckpoint.Options{})
		if err != nil {
			return nil, err
		}
		r, err := sqliteruns.Open(ctx, file, sqliteruns.Options{})
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return &stores{c, r, func() { _ = errors.Join(r.Close(), c.Close()) }}, nil
	}
	return &stores{memcheckpoint.New(memcheckpoint.Options{}), memruns.New(), func() {}}, nil
}
