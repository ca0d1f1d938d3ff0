package sqlitedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/weft-go/weft/internal/migration"
)

// Memory is the path of a database that lives in memory, and ends with its [DB].
const Memory = ":memory:"

const (
	pageSize = 4096
	// maxReaders is how many reads go on at once.
	maxReaders = 8
	// busySlice is how long SQLite waits before the caller's context is looked
	// at again.
	busySlice          = 25 * time.Millisecond
	defaultBusyTimeout = 5 * time.Second
)

// Options configures [Open].
type Options struct {
	// MaxSize is the most bytes that the file may grow to. Zero means no limit.
	MaxSize int64
	// BusyTimeout is how long to wait for other processes. Zero means 5 seconds; with
	// a negative value it does not wait.
	BusyTimeout time.Duration
	// Normal does not wait until a commit is on the disk.
	Normal bool
	// SecureDelete overwrites what is deleted.
	SecureDelete bool
	// Migrations are applied in their order, and noted in a table of this name.
	Migrations []migration.Migration
	Table      string
	// Warm are statements that are prepared when the database is opened, for the session that writes.
	Warm []string
}

// DB is a database. It is safe for use by any number of goroutines.
type DB struct {
	file    string
	busy    time.Duration
	db      *sql.DB
	writer  *pool // one session
	readers *pool // that of writer when the database is in memory
}

// Open opens the database at path, and makes it if there is none.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	dsn, file := Memory, ""
	if path != Memory {
		var err error
		if file, err = resolve(path); err != nil {
			return nil, err
		}
		dsn = dataSource(file)
	}
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	d := &DB{file: file, busy: o.busyTimeout(), db: db}
	d.writer = newPool(1, func(ctx context.Context) (*Session, error) {
		return newSession(ctx, db, o.writePragmas(path == Memory))
	})
	d.readers = d.writer
	if path != Memory {
		d.readers = newPool(maxReaders, func(ctx context.Context) (*Session, error) {
			return newSession(ctx, db, readPragmas)
		})
	}
	// Changing the journal of a new file can meet another process that does the same.
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

// File returns the path that all names of the file have in common, and none for a database in memory. A link may
// have led to nothing before.
func (d *DB) File() string {
	if d.file == "" {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(d.file); err == nil {
		return resolved
	}
	return d.file
}

// Close waits for calls that are under way, and closes the file. What is called later
// returns an error that wraps [fs.ErrClosed]; Close itself may be called again.
func (d *DB) Close() error {
	return errors.Join(d.readers.close(), d.writer.close(), d.db.Close())
}

// Read calls fn with one consistent view of the database. It may do so again.
func (d *DB) Read(ctx context.Context, fn func(q *Session) error) error {
	q, err := d.readers.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.readers.release(q)
	return d.retry(ctx, func() error {
		return q.transaction(beginRead, func() error { return fn(q) })
	})
}

// Change calls fn in a transaction that writes. It may do so again.
func (d *DB) Change(ctx context.Context, fn func(w *Session) error) error {
	return d.Write(ctx, func(w *Session) error {
		return w.Transaction(func() error { return fn(w) })
	})
}

// ErrInUse says that somebody still reads what was there before.
var ErrInUse = errors.New("in use: what was removed is still in the write-ahead log")

// Empty moves everything from the write-ahead log into the file, and leaves the log
// empty. It waits for those who read, and returns [ErrInUse] if that takes too long.
func (d *DB) Empty(ctx context.Context) error {
	w, err := d.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.writer.release(w)
	for start := time.Now(); ; {
		var busy, frames, moved int
		if _, err := w.One(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, &busy, &frames, &moved); err != nil && !isBusy(err) {
			return err
		} else if err == nil && busy == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if time.Since(start) >= d.busy {
			return ErrInUse
		}
	}
}

// Write calls fn with the session that writes, outside of a transaction. It may do so again.
func (d *DB) Write(ctx context.Context, fn func(w *Session) error) error {
	w, err := d.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer d.writer.release(w)
	return d.retry(ctx, func() error { return fn(w) })
}

// retry calls fn again while another process is in the way.
func (d *DB) retry(ctx context.Context, fn func() error) error {
	for start := time.Now(); ; {
		err := fn()
		if !isBusy(err) || time.Since(start) >= d.busy {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// resolve returns the path that every name of the file has in common, so that its
// log is found under any of them.
func resolve(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("empty path: %w", ErrPath)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("not a regular file: %w", ErrPath)
	}
	file, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return file, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", fmt.Errorf("its folder: %w", err)
	}
	return filepath.Join(folder, filepath.Base(abs)), nil
}

// dataSource spells the path as a URI, so that no character of it is taken for
// a parameter.
func dataSource(file string) string {
	p := filepath.ToSlash(file)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a Windows drive
	}
	u := url.URL{Scheme: "file", Path: p}
	return u.String()
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
