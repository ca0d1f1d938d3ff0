package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// An address names a database.
type address struct {
	db             string // the path of a SQLite file, or the URL of a PostgreSQL database
	schema, tenant string
}

// A store is an open database.
type store struct {
	checkpoints checkpoint.Store
	runs        runs.Store
	close       func() error
}

// open opens a database. It does not create one.
func (a address) open(ctx context.Context) (*store, error) {
	if a.db == "" {
		return nil, fmt.Errorf("%w: no store: give -db with the path of a SQLite file or the URL of a PostgreSQL database", errUsage)
	}
	if strings.HasPrefix(a.db, "postgres://") || strings.HasPrefix(a.db, "postgresql://") {
		return a.openPostgres(ctx)
	}
	if a.schema != "" || a.tenant != "" {
		return nil, fmt.Errorf("%w: -schema and -tenant are for a PostgreSQL database, and %q is not the URL of one", errUsage, a.db)
	}
	if info, err := os.Stat(a.db); err != nil {
		return nil, fmt.Errorf("open the SQLite file: %w", err)
	} else if info.IsDir() {
		return nil, fmt.Errorf("open the SQLite file: %s is a folder", a.db)
	}
	cp, err := sqlitecheckpoint.Open(ctx, a.db, sqlitecheckpoint.Options{})
	if err != nil {
		return nil, err
	}
	return &store{checkpoints: cp, runs: memruns.New(), close: cp.Close}, nil
}

func (a address) openPostgres(ctx context.Context) (*store, error) {
	config, err := pgcheckpoint.PoolConfig(a.db, pgcheckpoint.Detect)
	if err != nil {
		return nil, errors.New("the URL of the PostgreSQL database is invalid") // the error may contain the password
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	cp, err := pgcheckpoint.New(ctx, pool, pgcheckpoint.Options{Schema: a.schema, Tenant: a.tenant})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &store{checkpoints: cp, runs: memruns.New(), close: func() error { pool.Close(); return nil }}, nil
}
