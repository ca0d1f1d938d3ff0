package sqlitedb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// A Migration brings a schema to the next version.
type Migration struct {
	version  int
	name     string
	script   string
	checksum string
}

// MustMigrations reads files named 001_what.sql and so on, of a folder of an embedded file system.
func MustMigrations(files fs.FS, folder string) []Migration {
	names, err := fs.Glob(files, path.Join(folder, "*.sql")) // sorted
	if err != nil {
		panic(err)
	}
	list := make([]Migration, 0, len(names))
	for i, file := range names {
		b, err := fs.ReadFile(files, file)
		if err != nil {
			panic(err)
		}
		number, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			panic("sqlitedb: migration " + file + " is out of order")
		}
		// A checkout may have changed the ends of lines.
		script := strings.ReplaceAll(string(b), "\r\n", "\n")
		sum := sha256.Sum256([]byte(script))
		list = append(list, Migration{version, name, script, hex.EncodeToString(sum[:])})
	}
	return list
}

const hasTableQuery = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`

// migrate applies what the database lacks, each migration in a transaction of
// its own. Any number of processes may do so at once. A database that lacks
// nothing is only read. The name of the table is a constant of the store's.
func migrate(w *Session, table string, list []Migration) error {
	for {
		done, err := applied(w, table, list)
		if err != nil {
			return err
		}
		if done == len(list) {
			return nil
		}
		err = w.Transaction(func() error {
			if done, err = applied(w, table, list); err != nil || done == len(list) {
				return err
			}
			return apply(w, table, list[done])
		})
		if err != nil {
			return err
		}
	}
}

// applied returns how many of the migrations the database has.
func applied(w *Session, table string, list []Migration) (int, error) {
	var one int
	found, err := w.One(hasTableQuery, []any{table}, &one)
	if err != nil || !found {
		return 0, err
	}
	n := 0
	err = w.Each(`SELECT version, checksum FROM `+table+` ORDER BY version`, nil, func(scan func(...any) error) (bool, error) {
		var version int
		var checksum string
		if err := scan(&version, &checksum); err != nil {
			return false, err
		}
		switch {
		case version > len(list):
			return false, fmt.Errorf("its schema has version %d, and this package knows %d: %w", version, len(list), ErrSchema)
		case version != n+1 || checksum != list[n].checksum:
			return false, fmt.Errorf("version %d of its schema is not the one of this package: %w", version, ErrSchema)
		}
		n++
		return true, nil
	})
	return n, err
}

func apply(w *Session, table string, m Migration) error {
	create := `CREATE TABLE IF NOT EXISTS ` + table + ` (
	version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied INTEGER NOT NULL)`
	for _, script := range []string{create, m.script} {
		// Scripts are not kept as prepared statements.
		if _, err := w.conn.ExecContext(context.Background(), script); err != nil {
			return fmt.Errorf("migration %03d_%s: %w", m.version, m.name, err)
		}
	}
	_, err := w.Exec(`INSERT INTO `+table+` (version, name, checksum, applied) VALUES (?, ?, ?, ?)`,
		m.version, m.name, m.checksum, time.Now().UnixMicro())
	return err
}
