package pgruns

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/server/runs"
)

// The errors of this package, in addition to those of package runs.
var (
	// ErrNotMigrated is returned by [New] if the database lacks the tables of this version.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgrunserrnotmigrated.
	ErrNotMigrated = errors.New("the database is not migrated; see Migrate")
	// ErrFormat is returned if another version of this package has migrated the database.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgrunserrformat.
	ErrFormat = errors.New("unknown format")
	// ErrUnreachable is returned if the database could not be reached for [Options.Patience].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgrunserrunreachable.
	ErrUnreachable = unavailable.New("the database cannot be reached")
)

// Options configures [Open], [New] and [Migrate]. The zero value works.
type Options struct {
	// Schema holds the tables and functions of the store. Empty means "weft". It may contain
	// letters, digits, "_" and "-", and cannot begin with a digit or "-".
	Schema string
	// Patience is the time for which a call is retried while the database cannot be reached,
	// before it returns [ErrUnreachable]. Zero means 15 seconds. With a negative value, a call is
	// tried once.
	Patience time.Duration
	// Timeout is the time limit for one statement, including the wait for a connection. After it, the connection counts
	// as lost. Zero means 10 seconds.
	Timeout time.Duration
}

const (
	defaultSchema   = "weft"
	defaultPatience = 15 * time.Second
	defaultTimeout  = 10 * time.Second

	// maintenanceTime is the maximum time of a migration and of the removal of events.
	maintenanceTime = 10 * time.Minute
)

// Store is a [runs.Store] in PostgreSQL. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool
	own     bool // Close closes the pool
	schema  string
	retries pgdb.Retries
	timeout time.Duration
}

var _ runs.Store = (*Store)(nil)

// Open connects to a database, migrates it if needed, and returns a store with its own pool. The
// caller closes the store. The address has a form that pgxpool.ParseConfig accepts. It may also have
// the parameter pgbouncer=true. If the connections lead through a transaction pooler, they prepare
// no statements.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	s, err := open(ctx, address, o)
	if err != nil {
		return nil, fmt.Errorf("pgruns: open: %w", err)
	}
	return s, nil
}

func open(ctx context.Context, address string, o Options) (*Store, error) {
	config, err := pgdb.PoolConfig(address, nil)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s, err := newStore(pool, o)
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.own = true
	return s, nil
}

// New returns a store that works on a pool. The caller closes the pool. Behind a transaction pooler,
// its connections must not prepare statements, as with pgcheckpoint.PoolConfig.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	s, err := newStore(pool, o)
	if err == nil {
		err = s.checkVersion(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("pgruns: new: %w", err)
	}
	return s, nil
}

var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

func newStore(pool *pgxpool.Pool, o Options) (*Store, error) {
	switch {
	case pool == nil:
		return nil, errors.New("no pool")
	case o.Schema != "" && !schemaName.MatchString(o.Schema):
		return nil, fmt.Errorf("schema %q contains other characters than letters, digits, _ and -", o.Schema)
	case o.Timeout < 0:
		return nil, fmt.Errorf("negative Timeout %v", o.Timeout)
	}
	return &Store{
		pool: pool, schema: cmp.Or(o.Schema, defaultSchema), timeout: cmp.Or(o.Timeout, defaultTimeout),
		retries: pgdb.Retries{Patience: max(cmp.Or(o.Patience, defaultPatience), 0), Unreachable: ErrUnreachable},
	}, nil
}

// Close closes the pool of [Open] after the calls that use it have ended. It does not close a pool
// that was given to [New].
func (s *Store) Close() {
	if s.own {
		s.pool.Close()
	}
}

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are the migrations of this version, oldest first.
var migrations = migration.MustRead(migrationFiles, "migration")

// Migrations returns the names of the migrations of this version, oldest first, such as "001_runs".
func Migrations() []string {
	names := make([]string, len(migrations))
	for i := range migrations {
		names[i] = migrations[i].Name
	}
	return names
}

func (s *Store) migrations() *pgdb.Migrations {
	return &pgdb.Migrations{List: migrations, Schema: s.schema, Table: "run_migration", Lock: "weft runs", Foreign: ErrFormat, Command: "weft threads migrate -runs"}
}

// Migrate applies the missing migrations to the schema of the options, each in its own transaction.
// Any number of processes may call it concurrently. It needs the rights to create the schema, tables
// and functions.
func Migrate(ctx context.Context, pool *pgxpool.Pool, o Options) error {
	s, err := newStore(pool, o)
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		return fmt.Errorf("pgruns: migrate: %w", err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context) error {
	return s.migrations().Migrate(ctx, s.query, func(ctx context.Context, script string) error {
		return s.retries.Do(ctx, maintenanceTime, pgdb.AnyFault, func(ctx context.Context) error {
			return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
				return err
			})
		})
	})
}

// checkVersion returns [ErrNotMigrated] unless the database has this version.
func (s *Store) checkVersion(ctx context.Context) error {
	done, err := s.migrations().Applied(ctx, s.query)
	if err == nil && done < len(migrations) {
		err = fmt.Errorf("schema %q has version %d, and this package needs version %d: %w", s.schema, done, len(migrations), ErrNotMigrated)
	}
	return err
}

// fail returns an error that names the operation and the schema.
func (s *Store) fail(operation string, err error) error {
	return fmt.Errorf("pgruns: %s: schema %q: %w", operation, s.schema, pgdb.Unavailable(err))
}
