package sqliteruns

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/server/runs"
)

// Memory is the path of a database in memory, which lasts until its [Store] is closed.
const Memory = sqlitedb.Memory

// ErrFull is returned by calls that write when the disk is full or the file has reached
// [Options.MaxSize]. Nothing was written.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#sqliterunserrfull.
var ErrFull = unavailable.New("database or disk is full")

// Options configures [Open]. The zero value is ready to use.
type Options struct {
	// MaxSize is the maximum size in bytes to which this store lets the file grow. Beyond it,
	// writes return [ErrFull]. Zero means no limit.
	MaxSize int64
	// BusyTimeout is the maximum time that a write waits while another process writes. Zero means
	// 5 seconds. With a negative value, a write does not wait.
	BusyTimeout time.Duration
}

// Store is a [runs.Store] in a SQLite file. It is safe for concurrent use.
type Store struct {
	path string
	db   *sqlitedb.DB
}

var _ runs.Store = (*Store)(nil)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are the migrations of this version, oldest first.
var migrations = migration.MustRead(migrationFiles, "migration")

// Open opens the database at path and creates it if it does not exist. Its folder must exist. The
// caller must close the store. With the path [Memory], every store has its own database.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s := &Store{path: path}
	if o.MaxSize < 0 {
		return nil, s.fail("open", fmt.Errorf("negative MaxSize %d", o.MaxSize))
	}
	var err error
	s.db, err = sqlitedb.Open(ctx, path, sqlitedb.Options{
		MaxSize: o.MaxSize, BusyTimeout: o.BusyTimeout, SecureDelete: true, Migrations: migrations, Table: "run_migration",
	})
	if err != nil {
		return nil, s.fail("open", err)
	}
	return s, nil
}

// Close waits for running calls and closes the file. It may be called again.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return s.fail("close", err)
	}
	return nil
}

// fail returns an error that names the operation and the file.
func (s *Store) fail(operation string, err error) error {
	if sqlitedb.FaultOf(err) == sqlitedb.Full {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("sqliteruns: %s: file %q: %w", operation, s.path, err)
}

// change calls f in a write transaction.
func (s *Store) change(ctx context.Context, operation string, f func(w *sqlitedb.Session) error) error {
	err := ctx.Err()
	if err == nil {
		err = s.db.Change(ctx, f)
	}
	if err != nil {
		return s.fail(operation, err)
	}
	return nil
}

// read calls f in a read transaction.
func (s *Store) read(ctx context.Context, operation string, f func(q *sqlitedb.Session) error) error {
	err := ctx.Err()
	if err == nil {
		err = s.db.Read(ctx, f)
	}
	if err != nil {
		return s.fail(operation, err)
	}
	return nil
}
