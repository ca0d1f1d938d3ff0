// Package store opens what a conversation is kept in: one folder, a PostgreSQL, a
// Supabase project, or nothing at all.
package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// Config says where things are kept. Its zero value keeps nothing.
type Config struct {
	// Folder is where the SQLite files are. It counts if Database is empty.
	Folder string
	// Database is the address of a PostgreSQL, and Schema where in it. Supabase says that it is
	// that of a project, whose tables for other programs are made as well.
	Database, Schema string
	Supabase         bool
	// Lease is how long a run of a process that died keeps others from its thread.
	Lease time.Duration
}

// Read completes a configuration by the environment. Supabase is on if and only if
// SUPABASE_URL and SUPABASE_SERVICE_ROLE_KEY, or else SUPABASE_KEY, are set; the database is
// then SUPABASE_DB_URL, or else DATABASE_URL. Without Supabase it is DATABASE_URL. An
// error names what has to be put right.
func (c Config) Read(getenv func(string) string) (Config, error) {
	project, name, key := getenv("SUPABASE_URL"), "SUPABASE_SERVICE_ROLE_KEY", getenv("SUPABASE_SERVICE_ROLE_KEY")
	if key == "" {
		name, key = "SUPABASE_KEY", getenv("SUPABASE_KEY")
	}
	c.Database = getenv("DATABASE_URL")
	if project == "" || key == "" {
		if getenv("SUPABASE_DB_URL") != "" {
			return c, errors.New("SUPABASE_DB_URL is set, and SUPABASE_URL and SUPABASE_SERVICE_ROLE_KEY have to be as well; for a database alone, set DATABASE_URL")
		}
		return c, nil
	}
	c.Supabase = true
	if url := getenv("SUPABASE_DB_URL"); url != "" {
		c.Database = url
	}
	if c.Database == "" {
		return c, errors.New("SUPABASE_DB_URL is not set: it is under Connect in the project's dashboard")
	}
	if err := supacheckpoint.CheckServiceKey(key, project, []byte(getenv("SUPABASE_JWT_SECRET"))); err != nil {
		return c, errors.Join(errors.New(name), err)
	}
	return c, nil
}

// String says what the configuration is, without an address.
func (c Config) String() string {
	switch {
	case c.Supabase:
		return "Supabase"
	case c.Database != "":
		return "PostgreSQL"
	case c.Folder != "":
		return "SQLite, in " + c.Folder
	}
	return "nothing is kept"
}

// Stores are the stores of the program. If nothing is kept, Memory is nil and the others are in
// memory.
type Stores struct {
	Checkpoints checkpoint.Store
	Runs        runs.Store
	Memory      driver.Backend
	closers     []func() error
}

// Close closes all of them.
func (s *Stores) Close() error {
	var all []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		all = append(all, s.closers[i]())
	}
	return errors.Join(all...)
}

// Open opens the stores, and makes and migrates what is not there.
func Open(ctx context.Context, c Config) (*Stores, error) {
	s := &Stores{}
	var err error
	switch {
	case c.Database != "":
		err = s.openPostgres(ctx, c)
	case c.Folder != "":
		err = s.openSQLite(ctx, c)
	default:
		s.Checkpoints, s.Runs = memcheckpoint.New(memcheckpoint.Options{}), memruns.New()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stores) openSQLite(ctx context.Context, c Config) error {
	if err := os.MkdirAll(c.Folder, 0o700); err != nil {
		return err
	}
	file := filepath.Join(c.Folder, "checkpoints.db")
	threads, err := sqlitecheckpoint.Open(ctx, file, sqlitecheckpoint.Options{})
	if err != nil {
		return err
	}
	s.Checkpoints, s.closers = threads, append(s.closers, threads.Close)
	records, err := sqliteruns.Open(ctx, file, sqliteruns.Options{})
	if err != nil {
		return err
	}
	s.Runs, s.closers = records, append(s.closers, records.Close)
	db, err := sqlitememory.Open(ctx, filepath.Join(c.Folder, "memory.db"), sqlitememory.Options{})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, db.Close)
	s.Memory = db
	return nil
}

func (s *Stores) openPostgres(ctx context.Context, c Config) error {
	o := pgcheckpoint.Options{Schema: c.Schema, LeaseTime: c.Lease}
	if c.Supabase { // with the rights of the service: this program says who asks, and not the project
		threads, err := supacheckpoint.Open(ctx, c.Database, supacheckpoint.Options{Checkpoint: o})
		if err != nil {
			return err
		}
		s.Checkpoints, s.closers = threads, append(s.closers, quietly(threads.Close))
	} else {
		threads, err := pgcheckpoint.Open(ctx, c.Database, o)
		if err != nil {
			return err
		}
		s.Checkpoints, s.closers = threads, append(s.closers, quietly(threads.Close))
	}
	return s.openPool(ctx, c)
}

// connections is how many the pool has, unless the address says pool_max_conns: those who ask and those who
// learn use it at once.
const connections = 16

// openPool opens the memory and the records of the server.
func (s *Stores) openPool(ctx context.Context, c Config) error {
	config, err := pgmemory.PoolConfig(c.Database, pgmemory.Detect)
	if err != nil {
		return err
	}
	if !strings.Contains(c.Database, "pool_max_conns") {
		config.MaxConns = max(config.MaxConns, connections)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, quietly(pool.Close))
	o := pgmemory.Options{Schema: c.Schema}
	if c.Supabase {
		err = pgmemory.MigratePublic(ctx, pool, o)
	} else {
		err = pgmemory.Migrate(ctx, pool, o)
	}
	if err != nil {
		return err
	}
	db, err := pgmemory.New(ctx, pool, o)
	if err != nil {
		return err
	}
	s.Memory = db
	if err := pgruns.Migrate(ctx, pool, pgruns.Options{Schema: c.Schema}); err != nil {
		return err
	}
	records, err := pgruns.New(ctx, pool, pgruns.Options{Schema: c.Schema})
	if err != nil {
		return err
	}
	s.Runs = records
	return nil
}

func quietly(end func()) func() error { return func() error { end(); return nil } }
