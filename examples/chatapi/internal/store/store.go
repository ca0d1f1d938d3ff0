// Package store opens the stores of the program: SQLite files in a folder, a PostgreSQL database, a
// Supabase project, or process memory.
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

// Config selects the stores. With its zero value, nothing outlives the process.
type Config struct {
	// Folder is the folder of the SQLite files. It is used if Database is empty.
	Folder string
	// Database is the URL of a PostgreSQL database, and Schema the schema in it. Supabase means that the
	// database belongs to a Supabase project. The views for other programs are then created too.
	Database, Schema string
	Supabase         bool
	// Lease is the lease time of threads in PostgreSQL. After a crash, another run can take a thread when its
	// lease has expired. Zero means 30 seconds.
	Lease time.Duration
}

// Read returns the configuration with Database and Supabase from the environment. Supabase is on if and
// only if SUPABASE_URL and a key are set, in SUPABASE_SERVICE_ROLE_KEY or else SUPABASE_KEY. The database
// is then SUPABASE_DB_URL, or else DATABASE_URL. Without Supabase it is DATABASE_URL. An error names the
// variable to correct.
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

// String names the kind of the stores, without the URL of a database.
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

// Stores are the stores of the program. For a zero Config, Memory is nil, and the others are in process
// memory.
type Stores struct {
	Checkpoints checkpoint.Store
	Runs        runs.Store
	Memory      driver.Backend
	closers     []func() error
}

// Close closes all stores.
func (s *Stores) Close() error {
	var all []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		all = append(all, s.closers[i]())
	}
	return errors.Join(all...)
}

// Open opens the stores. It creates the folder, and creates or migrates the tables.
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
	if c.Supabase { // with the rights of the service role: this program checks the caller, and not the project
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

// connections is the least limit of connections of the pool, unless the URL sets pool_max_conns: requests
// and the learner use the pool at the same time.
const connections = 16

// openPool opens the memory and the server's run store over one pool.
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
