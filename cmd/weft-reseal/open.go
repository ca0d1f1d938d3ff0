package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// open opens the store without any limit on the size of values, since encrypting them
// again may add some bytes. It does not create a database.
func (c *command) open(ctx context.Context) (store checkpoint.Store, closeStore func() error, err error) {
	if strings.HasPrefix(c.address, "postgres://") || strings.HasPrefix(c.address, "postgresql://") {
		return c.openPostgres(ctx)
	}
	if c.schema != "" || c.tenant != "" {
		return nil, nil, fmt.Errorf("-schema and -tenant are for a PostgreSQL store, and %q is not the URL of one", c.address)
	}
	if _, err := os.Stat(c.address); err != nil {
		return nil, nil, fmt.Errorf("open the SQLite database: %w", err)
	}
	s, err := sqlitecheckpoint.Open(ctx, c.address, sqlitecheckpoint.Options{MaxValue: -1})
	if err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

func (c *command) openPostgres(ctx context.Context) (checkpoint.Store, func() error, error) {
	config, err := pgcheckpoint.PoolConfig(c.address, pgcheckpoint.Detect)
	if err != nil {
		return nil, nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	s, err := pgcheckpoint.New(ctx, pool, pgcheckpoint.Options{Schema: c.schema, Tenant: c.tenant, MaxValue: -1})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return s, func() error { pool.Close(); return nil }, nil
}
