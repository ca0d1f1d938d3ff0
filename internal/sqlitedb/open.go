package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/weft-go/weft/internal/migration"
)

// Memory is the path of a database in memory. The data exist until the [DB] is closed.
const Memory = ":memory:"

const (
	pageSize = 4096
	// maxReaders is the maximum number of concurrent reads.
	maxReaders = 8
	// busySlice is the time for which SQLite waits for a lock between two checks of the
	// caller's context.
	busySlice          = 25 * time.Millisecond
	defaultBusyTimeout = 5 * time.Second
)

// Options configures [Open].
type Options struct {
	// MaxSize is the maximum size of the file in bytes. Zero means no limit.
	MaxSize int64
	// BusyTimeout limits the time of waiting for a lock of another process. Zero means 5
	// seconds. A negative value means no waiting.
	BusyTimeout time.Duration
	// Normal sets synchronous=NORMAL, so that a commit does not wait for the disk.
	Normal bool
	// SecureDelete overwrites deleted data with zeros.
	SecureDelete bool
	// Migrations are applied in order and recorded in the table named Table.
	Migrations []migration.Migration
	Table      string
	// Warm lists statements that Open prepares for the writing session.
	Warm []string
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	file   string      // empty in memory
	opened fs.FileInfo // identity of the file; nil in memory
	busy   time.Duration
	free   func(folder string) (uint64, error)
	// roomChecked is the last time at which a check found at least plentyFree bytes. Only the
	// holder of the writing session may use it.
	roomChecked time.Time
	db          *sql.DB
	writer      *pool // one session
	readers     *pool // the same pool as writer for a database in memory
}

// Open opens the database at path and creates it if it does not exist. Only the
// owner can read a file that Open creates.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	dsn, file := Memory, ""
	if path != Memory {
		var err error
		if file, err = resolve(path); err != nil {
			return nil, err
		}
		if err := create(file); err != nil {
			return nil, err
		}
		dsn = dataSource(file)
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	d := &DB{file: file, busy: o.busyTimeout(), free: freeSpace, db: db}
	if file != "" {
		if d.opened, err = os.Stat(file); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	d.writer = newPool(1, func(ctx context.Context) (*Session, error) {
		return d.newSession(ctx, o.writePragmas(path == Memory))
	})
	d.readers = d.writer
	if path != Memory {
		d.readers = newPool(maxReaders, func(ctx context.Context) (*Session, error) {
			return d.newSession(ctx, readPragmas)
		})
	}
	// Two processes cannot set the journal mode of a new file at the same time.
	err = d.retry(ctx, func() error {
		return d.Write(ctx, func(w *Session) error {
			if err := migrate(w, o.Table, o.Migrations); err != nil {
				return err
			}
			return w.warm(o.Warm)
		})
	})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// newSession opens a connection. SQLite opens the file by its path. The path may lead to
// another file by now, so newSession checks the file.
func (d *DB) newSession(ctx context.Context, pragmas []string) (*Session, error) {
	s, err := newSession(ctx, d.db, pragmas)
	if err != nil {
		return nil, err
	}
	if err := d.checkFile(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// Close waits for running calls and closes the file. Later calls of other methods return
// an error that wraps [fs.ErrClosed]. Close may be called several times.
func (d *DB) Close() error {
	return errors.Join(d.readers.close(), d.writer.close(), d.db.Close())
}

func (o Options) busyTimeout() time.Duration {
	if o.BusyTimeout == 0 {
		return defaultBusyTimeout
	}
	return max(o.BusyTimeout, 0)
}

func (o Options) writePragmas(memory bool) []string {
	p := []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", min(busySlice, o.busyTimeout()).Milliseconds()),
		fmt.Sprintf("PRAGMA page_size = %d", pageSize),
	}
	if !memory {
		p = append(p, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL")
	}
	if o.Normal {
		p = append(p, "PRAGMA synchronous = NORMAL")
	}
	if o.MaxSize > 0 {
		p = append(p, fmt.Sprintf("PRAGMA max_page_count = %d", max(o.MaxSize/pageSize, 1)))
	}
	if o.SecureDelete {
		p = append(p, "PRAGMA secure_delete = ON")
	}
	return append(p, "PRAGMA journal_size_limit = 67108864", "PRAGMA trusted_schema = OFF")
}

var readPragmas = []string{
	fmt.Sprintf("PRAGMA busy_timeout = %d", busySlice.Milliseconds()),
	"PRAGMA query_only = ON",
	"PRAGMA cell_size_check = ON",
	"PRAGMA trusted_schema = OFF",
}
