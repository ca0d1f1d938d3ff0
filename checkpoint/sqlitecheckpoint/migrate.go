package sqlitecheckpoint

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are those of this version, oldest first.
var migrations = mustMigrations(migrationFiles)

// A migration brings a schema to the next version.
type migration struct {
	version  int
	name     string
	script   string
	checksum string
}

func mustMigrations(files fs.FS) []migration {
	names, err := fs.Glob(files, "migration/*.sql") // sorted
	if err != nil {
		panic(err)
	}
	list := make([]migration, 0, len(names))
	for i, file := range names {
		b, err := fs.ReadFile(files, file)
		if err != nil {
			panic(err)
		}
		number, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			panic("sqlitecheckpoint: migration " + file + " is out of order")
		}
		// A checkout may have changed the ends of lines.
		script := strings.ReplaceAll(string(b), "\r\n", "\n")
		sum := sha256.Sum256([]byte(script))
		list = append(list, migration{version, name, script, hex.EncodeToString(sum[:])})
	}
	return list
}

const (
	hasMigrationsQuery = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'cp_migration'`
	migrationsQuery    = `SELECT version, checksum FROM cp_migration ORDER BY version`

	createMigrations = `CREATE TABLE IF NOT EXISTS cp_migration (
	version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied INTEGER NOT NULL)`
	insertMigration = `INSERT INTO cp_migration (version, name, checksum, applied) VALUES (?, ?, ?, ?)`
)

// migrate applies what the database lacks, each migration in a transaction of
// its own. Any number of processes may do so at once. A database that lacks
// nothing is only read.
func migrate(w *session, list []migration) error {
	for {
		done, err := applied(w, list)
		if err != nil {
			return err
		}
		if done == len(list) {
			return nil
		}
		err = w.transaction(beginWrite, func() error {
			if done, err = applied(w, list); err != nil || done == len(list) {
				return err
			}
			return apply(w, list[done])
		})
		if err != nil {
			return err
		}
	}
}

// applied returns how many of the migrations the database has.
func applied(w *session, list []migration) (int, error) {
	var one int
	found, err := w.one(hasMigrationsQuery, nil, &one)
	if err != nil || !found {
		return 0, err
	}
	n := 0
	err = w.each(migrationsQuery, nil, func(scan func(...any) error) (bool, error) {
		var version int
		var checksum string
		if err := scan(&version, &checksum); err != nil {
			return false, err
		}
		switch {
		case version > len(list):
			return false, fmt.Errorf("its schema has version %d, and this package knows %d: %w",
				version, len(list), checkpoint.ErrFormat)
		case version != n+1 || checksum != list[n].checksum:
			return false, fmt.Errorf("version %d of its schema is not the one of this package: %w",
				version, checkpoint.ErrFormat)
		}
		n++
		return true, nil
	})
	return n, err
}

func apply(w *session, m migration) error {
	for _, script := range []string{createMigrations, m.script} {
		// Scripts are not kept as prepared statements.
		if _, err := w.conn.ExecContext(context.Background(), script); err != nil {
			return fmt.Errorf("migration %03d_%s: %w", m.version, m.name, err)
		}
	}
	_, err := w.exec(insertMigration, m.version, m.name, m.checksum, time.Now().UnixMicro())
	return err
}
