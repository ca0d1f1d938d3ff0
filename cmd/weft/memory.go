package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// openMemory opens the memory in a database, or returns nil if the database has none. The memory finds facts by their
// words only, because it has no embedder. The caller must call end.
func (a address) openMemory(ctx context.Context) (m *memory.Memory, end func() error, err error) {
	b, end, err := a.openBackend(ctx)
	if b == nil || err != nil {
		return nil, func() error { return nil }, err
	}
	if m, err = memory.New(b, memory.Options{}); err != nil {
		err = errors.Join(err, end())
	}
	return m, end, err
}

func (a address) openBackend(ctx context.Context) (driver.Backend, func() error, error) {
	if a.isPostgres() {
		return a.openPostgresMemory(ctx)
	}
	if err := a.checkPath(); err != nil {
		return nil, nil, err
	}
	if _, err := os.Stat(a.db); err != nil {
		return nil, nil, fmt.Errorf("open the SQLite file of the memory: %w", err)
	}
	has, err := tablesOf(ctx, a.db)
	if err != nil {
		return nil, nil, fmt.Errorf("open the SQLite file of the memory: %w", err)
	}
	if !has("mem_") {
		return nil, nil, nil
	}
	db, err := sqlitememory.Open(ctx, a.db, sqlitememory.Options{})
	if err != nil {
		return nil, nil, err
	}
	return db, db.Close, nil
}

func (a address) openPostgresMemory(ctx context.Context) (driver.Backend, func() error, error) {
	config, err := pgmemory.PoolConfig(a.connection(), pgmemory.Detect)
	if err != nil {
		return nil, nil, errors.New("the URL of the PostgreSQL database of the memory is invalid") // the error may contain the password
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	db, err := pgmemory.New(ctx, pool, pgmemory.Options{Schema: a.schema})
	if err != nil {
		pool.Close()
		if errors.Is(err, pgmemory.ErrNotMigrated) { // the database has no memory
			err = nil
		}
		return nil, nil, err
	}
	return db, func() error { pool.Close(); return nil }, nil
}
