package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// An address names a database.
type address struct {
	db             string // the path of a SQLite file, or the URL or the keys and values of a PostgreSQL database
	schema, tenant string
}

var (
	postgresScheme = regexp.MustCompile(`^(?i:postgres|postgresql)://`)
	// postgresKeys matches the first key of a text such as "host=db user=u".
	postgresKeys = regexp.MustCompile(`^\s*(host|hostaddr|port|dbname|database|user|password|passfile|service|servicefile|sslmode|connect_timeout|application_name)\s*=`)
	// passwords matches a text that may have a password.
	passwords = regexp.MustCompile(`(?i)://|password\s*=|^\s*postgres(ql)?:`)
)

// isPostgres reports whether the address names a PostgreSQL database.
func (a address) isPostgres() bool {
	return postgresScheme.MatchString(a.db) || postgresKeys.MatchString(a.db)
}

// connection returns the address as pgx reads it: with the scheme in lower case.
func (a address) connection() string {
	return postgresScheme.ReplaceAllStringFunc(a.db, strings.ToLower)
}

// checkPath returns an error for an address that cannot be the path of a SQLite file. The error does not contain the
// address, which may have a password.
func (a address) checkPath() error {
	if passwords.MatchString(a.db) {
		return fmt.Errorf("%w: the database is neither the path of a SQLite file nor the URL of a PostgreSQL database; such a URL begins with postgres:// or postgresql://", errUsage)
	}
	return nil
}

// A store is an open database.
type store struct {
	checkpoints checkpoint.Store
	runs        runs.Store
	close       func() error
	// held and tags query the database: for the threads that runs hold, and for the tags of a thread.
	held lessor
	tags func(ctx context.Context, thread string) (map[string]checkpoint.Key, error) // it may be nil
	// tenants returns the number of tenants with threads. It is nil for a SQLite file, and if -tenant is given.
	tenants func(ctx context.Context) (int, error)
	// queue returns the counts of the queue of package riverqueue. It is nil if the database has no such queue.
	queue func(ctx context.Context) (runs.QueueStats, error)
}

// opened opens a database. If keys names a file with keys, the store decrypts the values.
func (a address) opened(ctx context.Context, keys string) (*store, error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if s.checkpoints, err = decrypted(ctx, s.checkpoints, keys); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// open opens a database. It does not create one.
func (a address) open(ctx context.Context) (*store, error) {
	if a.db == "" {
		return nil, fmt.Errorf("%w: no store: give -db with the path of a SQLite file or the URL of a PostgreSQL database", errUsage)
	}
	if a.isPostgres() {
		return a.openPostgres(ctx)
	}
	tables, err := a.check(ctx)
	if err != nil {
		return nil, err
	}
	cp, err := sqlitecheckpoint.Open(ctx, a.db, sqlitecheckpoint.Options{})
	if err != nil {
		return nil, err
	}
	s := &store{checkpoints: cp, runs: memruns.New(), close: cp.Close, held: tryLeases(cp)}
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

// check returns an error if the address is not a SQLite file with threads. Otherwise it returns a function that reports
// whether the file has a table whose name begins with a prefix.
func (a address) check(ctx context.Context) (has func(prefix string) bool, err error) {
	if err := a.checkPath(); err != nil {
		return nil, err
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
	return tables, nil
}

// tablesOf returns a function that reports whether a SQLite file has a table whose name begins
// with a prefix. It changes nothing.
func tablesOf(ctx context.Context, path string) (has func(prefix string) bool, err error) {
	db, err := readOnly(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	names, err := column(ctx, db, "SELECT name FROM sqlite_master WHERE type = 'table'")
	return func(prefix string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) })
	}, err
}

// readOnly opens a SQLite file for reading only.
func readOnly(path string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro")
}

// pool returns a pool of connections to a PostgreSQL database.
func (a address) pool(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := pgcheckpoint.PoolConfig(a.connection(), pgcheckpoint.Detect)
	if err != nil {
		return nil, errors.New("the URL of the PostgreSQL database is invalid") // the error may contain the password
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func (a address) openPostgres(ctx context.Context) (*store, error) {
	pool, err := a.pool(ctx)
	if err != nil {
		return nil, err
	}
	s := &store{runs: memruns.New(), close: func() error { pool.Close(); return nil }, held: a.held(pool)}
	if a.tenant == "" {
		s.tenants = a.tenants(pool)
	}
	if s.checkpoints, err = a.checkpoints(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	s.tags = tagsOf(s.checkpoints)
	r, err := pgruns.New(ctx, pool, pgruns.Options{Schema: a.schema})
	switch {
	case err == nil:
		s.runs = r
		s.queue, err = a.queue(ctx, pool)
		return s, err
	case !errors.Is(err, pgruns.ErrNotMigrated): // without its tables, no server has stored runs here
		pool.Close()
		return nil, err
	}
	return s, nil
}

// queue returns a function that reads the counts of the queue that servers share, or nil if the database has no queue.
func (a address) queue(ctx context.Context, pool *pgxpool.Pool) (func(ctx context.Context) (runs.QueueStats, error), error) {
	has, err := a.hasTable(ctx, pool, "river_job")
	if err != nil || !has {
		return nil, err
	}
	return riverqueue.New(pool, riverqueue.Options{Schema: a.schema}).Stats, nil
}

// tenants returns a function that counts the tenants with threads.
func (a address) tenants(pool *pgxpool.Pool) func(ctx context.Context) (int, error) {
	return func(ctx context.Context) (n int, err error) {
		err = pool.QueryRow(ctx, "SELECT count(DISTINCT tenant) FROM "+pgx.Identifier{cmp.Or(a.schema, defaultSchema), "cp_thread"}.Sanitize()+
			" WHERE tenant <> ''").Scan(&n)
		return n, err
	}
}

// held returns a function that finds the threads that a run holds.
func (a address) held(pool *pgxpool.Pool) lessor {
	return func(ctx context.Context, threads []string, anywhere bool) (map[string]bool, error) {
		rows, err := pool.Query(ctx, "SELECT id FROM "+pgx.Identifier{cmp.Or(a.schema, defaultSchema), "cp_thread"}.Sanitize()+
			" WHERE (tenant = $1::text OR $3::boolean) AND id = ANY ($2::text[]) AND owner IS NOT NULL AND until >= clock_timestamp()",
			a.tenant, threads, anywhere && a.tenant == "")
		if err != nil {
			return nil, err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		held := map[string]bool{}
		for _, id := range ids {
			held[id] = true
		}
		return held, err
	}
}

// tagsOf returns a function that reads the tags of a thread, or nil if the store has none.
func tagsOf(s checkpoint.Store) func(ctx context.Context, thread string) (map[string]checkpoint.Key, error) {
	tagger, ok := s.(interface {
		Tags(ctx context.Context, thread string) (map[string]checkpoint.Key, error)
	})
	if !ok {
		return nil
	}
	return tagger.Tags
}

// checkpoints opens the checkpoints of a database. In a Supabase project, the tenant is the id of a user.
func (a address) checkpoints(ctx context.Context, pool *pgxpool.Pool) (checkpoint.Store, error) {
	project, err := a.isProject(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("connect to the PostgreSQL database: %w", err)
	}
	if !project {
		return pgcheckpoint.New(ctx, pool, pgcheckpoint.Options{Schema: a.schema, Tenant: a.tenant})
	}
	s, err := supacheckpoint.New(ctx, pool, supacheckpoint.Options{Checkpoint: pgcheckpoint.Options{Schema: a.schema}})
	if err != nil || a.tenant == "" {
		return s, err
	}
	return s.For(a.tenant)
}

// isProject reports whether package supacheckpoint has migrated the schema.
func (a address) isProject(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	return a.hasTable(ctx, pool, "cp_project")
}

// hasTable reports whether the schema has a table.
func (a address) hasTable(ctx context.Context, pool *pgxpool.Pool, name string) (has bool, err error) {
	err = pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1::text AND c.relname = $2::text)`, cmp.Or(a.schema, defaultSchema), name).Scan(&has)
	return has, err
}

const defaultSchema = "weft"
