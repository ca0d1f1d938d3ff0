package sqlitecheckpoint

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

	"github.com/weft-go/weft/checkpoint"
)

const (
	pageSize = 4096
	// maxReaders is how many reads go on at once.
	maxReaders = 8
	// busySlice is how long SQLite waits before the store looks at the
	// caller's context again.
	busySlice = 25 * time.Millisecond
)

// Open opens the database at path, and makes it if there is none. The folder
// has to be there. It may be a file that other stores and processes have open,
// and [Memory] is a database of its own. The caller closes the store.
//
// A file that is no SQLite database, and one that a newer version of this
// package has written, are refused with [checkpoint.ErrFormat].
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("sqlitecheckpoint: open %q: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
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
	s := &Store{
		path:     path,
		maxValue: o.MaxValue,
		busy:     o.busyTimeout(),
		db:       db,
		tips:     map[string]*tip{},
	}
	s.writer = newPool(1, func(ctx context.Context) (*session, error) {
		return newSession(ctx, db, o.writePragmas(path == Memory))
	})
	s.readers = s.writer
	if path != Memory {
		s.readers = newPool(maxReaders, func(ctx context.Context) (*session, error) {
			return newSession(ctx, db, readPragmas)
		})
	}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(classify(err), s.readers.close(), s.writer.close(), db.Close())
	}
	s.locks = newLocks(lockPath(file))
	return s, nil
}

// prepare opens the session that writes. Changing the journal of a new file can
// meet another process that does the same.
func (s *Store) prepare(ctx context.Context) error {
	return s.retry(ctx, func() error {
		return s.write(ctx, func(w *session) error {
			if err := migrate(w, migrations); err != nil {
				return err
			}
			return w.warm()
		})
	})
}

// resolve returns the path that every name of the file has in common, so that
// its locks are found under any of them.
func resolve(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("empty path: %w", checkpoint.ErrInvalid)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("not a regular file: %w", checkpoint.ErrInvalid)
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

// lockPath is asked when the file is there: a link may have led to nothing before.
func lockPath(file string) string {
	if file == "" {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(file); err == nil {
		file = resolved
	}
	return file + "-lock"
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

func (o Options) writePragmas(memory bool) []string {
	p := []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", min(busySlice, o.busyTimeout()).Milliseconds()),
		fmt.Sprintf("PRAGMA page_size = %d", pageSize),
	}
	if !memory {
		p = append(p, "PRAGMA journal_mode = WAL", "PRAGMA synchronous = "+o.Synchronous.String())
	}
	if o.MaxSize > 0 {
		p = append(p, fmt.Sprintf("PRAGMA max_page_count = %d", max(o.MaxSize/pageSize, 1)))
	}
	return append(p, "PRAGMA journal_size_limit = 67108864", "PRAGMA trusted_schema = OFF")
}

var readPragmas = []string{
	fmt.Sprintf("PRAGMA busy_timeout = %d", busySlice.Milliseconds()),
	"PRAGMA query_only = ON",
	"PRAGMA cell_size_check = ON",
	"PRAGMA trusted_schema = OFF",
}
