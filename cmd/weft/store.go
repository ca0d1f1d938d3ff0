package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
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
	tables, err := tablesOf(ctx, a.db)
	if err != nil {
		return nil, fmt.Errorf("open the SQLite file: %w", err)
	}
	if !tables("cp_") {
		return nil, fmt.Errorf("%s has no threads: it has no table of package sqlitecheckpoint", a.db)
	}
	cp, err := sqlitecheckpoint.Open(ctx, a.db, sqlitecheckpoint.Options{})
	if err != nil {
		return nil, err
	}
	s := &store{checkpoints: cp, runs: memruns.New(), close: cp.Close}
	if !tables("run_") {
		return s, nil
	}
	r, err := sqliteruns.Open(ctx, a.db, sqliteruns.Options{})
	if err != nil {
		return nil, errors.Join(err, cp.Close())
	}
	s.runs, s.close = r, func() error { return errors.Join(r.Close(), cp.Close()) }
	return s, nil
}

// tablesOf returns a function that reports whether a SQLite file has a table whose name begins
// with a prefix. It changes nothing.
func tablesOf(ctx context.Context, path string) (has func(prefix string) bool, err error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return func(prefix string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) })
	}, rows.Err()
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
	s := &store{checkpoints: cp, runs: memruns.New(), close: func() error { pool.Close(); return nil }}
	r, err := pgruns.New(ctx, pool, pgruns.Options{Schema: a.schema})
	switch {
	case err == nil:
		s.runs = r
	case !errors.Is(err, pgruns.ErrNotMigrated): // without its tables, no server has stored runs here
		pool.Close()
		return nil, err
	}
	return s, nil
}
