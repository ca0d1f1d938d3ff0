package sqlitedb_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// scripts returns migrations that have the given SQL texts.
func scripts(list ...string) []migration.Migration {
	files := fstest.MapFS{}
	for i, script := range list {
		files["m/00"+string(rune('1'+i))+"_x.sql"] = &fstest.MapFile{Data: []byte(script)}
	}
	return migration.MustRead(files, "m")
}

var tables = scripts(`CREATE TABLE a (n INTEGER PRIMARY KEY, text TEXT)`, `CREATE TABLE b (n INTEGER)`)

func open(t *testing.T, path string, o sqlitedb.Options) *sqlitedb.DB {
	t.Helper()
	o.Table = "migration"
	db, err := sqlitedb.Open(context.Background(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, db.Close())
	})
	return db
}

func count(t *testing.T, db *sqlitedb.DB, table string) (n int) {
	t.Helper()
	err := db.Read(context.Background(), func(q *sqlitedb.Session) error {
		_, err := q.One(`SELECT count(*) FROM `+table, nil, &n)
		return err
	})
	require.NoError(t, err)
	return n
}

func TestFailedOrPanickingChangeIsRolledBack(t *testing.T) {
	t.Parallel()
	for _, path := range []string{sqlitedb.Memory, filepath.Join(t.TempDir(), "a.db")} {
		db := open(t, path, sqlitedb.Options{Migrations: tables})
		failed := errors.New("failed")
		insert := func(then error) func(*sqlitedb.Session) error {
			return func(w *sqlitedb.Session) error {
				if _, err := w.Insert(`INSERT INTO a (text) VALUES (?)`, "x"); err != nil {
					return err
				}
				return then
			}
		}
		assert.ErrorIs(t, db.Change(context.Background(), insert(failed)), failed)
		assert.PanicsWithValue(t, "in the middle", func() {
			_ = db.Change(context.Background(), func(w *sqlitedb.Session) error {
				_ = insert(nil)(w)
				panic("in the middle")
			})
		})
		assert.Equal(t, 0, count(t, db, "a"))
		assert.NoError(t, db.Change(context.Background(), insert(nil)))
		assert.Equal(t, 1, count(t, db, "a"))
		assert.NoError(t, db.Empty(context.Background()))
	}
}

func TestReadersCannotWrite(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "a.db"), sqlitedb.Options{Migrations: tables})
	err := db.Read(context.Background(), func(q *sqlitedb.Session) error {
		_, err := q.Exec(`INSERT INTO a (text) VALUES ('x')`)
		return err
	})
	assert.Error(t, err)
}

// Write commits each statement on its own. If a transaction inside Write fails, only the
// transaction is rolled back.
func TestWriteCommitsEachStatement(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, sqlitedb.Options{Migrations: tables, Warm: []string{`INSERT INTO a (text) VALUES (?)`}})
	failed := errors.New("failed")
	err := db.Write(context.Background(), func(w *sqlitedb.Session) error {
		if _, err := w.Insert(`INSERT INTO a (text) VALUES (?)`, "stays"); err != nil {
			return err
		}
		return w.Transaction(func() error {
			if _, err := w.Insert(`INSERT INTO a (text) VALUES (?)`, "goes"); err != nil {
				return err
			}
			return failed
		})
	})
	assert.ErrorIs(t, err, failed)
	assert.Equal(t, 1, count(t, db, "a"))
	_, err = sqlitedb.Open(context.Background(), path, sqlitedb.Options{Migrations: tables, Table: "migration", Warm: []string{`SELECT oops`}})
	assert.Error(t, err, "a statement of Warm that cannot be prepared")
}

// File returns the same path if the database was opened through a symbolic link.
func TestFileResolvesSymbolicLinks(t *testing.T) {
	t.Parallel()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	file, link := filepath.Join(folder, "a.db"), filepath.Join(folder, "link.db")
	require.NoError(t, os.Symlink(file, link))
	for path, want := range map[string]string{link: file, file: file, sqlitedb.Memory: ""} {
		assert.Equal(t, want, open(t, path, sqlitedb.Options{Migrations: tables}).File(), path)
	}
}

func TestFaultOfATooLargeValue(t *testing.T) {
	t.Parallel()
	db := open(t, sqlitedb.Memory, sqlitedb.Options{Migrations: tables})
	err := db.Change(context.Background(), func(w *sqlitedb.Session) error {
		_, err := w.Exec(`INSERT INTO a (text) SELECT zeroblob(1 << 31)`)
		return err
	})
	assert.Equal(t, sqlitedb.TooLarge, sqlitedb.FaultOf(err))
}

func TestIsUniqueReportsAUniqueConstraint(t *testing.T) {
	t.Parallel()
	db := open(t, sqlitedb.Memory, sqlitedb.Options{Migrations: tables})
	err := db.Change(context.Background(), func(w *sqlitedb.Session) error {
		for range 2 {
			if _, err := w.Exec(`INSERT INTO a (n) VALUES (1)`); err != nil {
				return err
			}
		}
		return nil
	})
	assert.True(t, sqlitedb.IsUnique(err))
	assert.Equal(t, sqlitedb.Other, sqlitedb.FaultOf(err))
}

func TestMigrationsAreAppliedOnceAndChecked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	open(t, path, sqlitedb.Options{Migrations: tables[:1]})
	db := open(t, path, sqlitedb.Options{Migrations: tables})
	open(t, path, sqlitedb.Options{Migrations: tables})
	assert.Equal(t, 2, count(t, db, "migration"))
	for name, list := range map[string][]migration.Migration{
		"a newer file": tables[:1], "another file": scripts(`CREATE TABLE c (n INTEGER)`, `CREATE TABLE b (n INTEGER)`),
	} {
		_, err := sqlitedb.Open(context.Background(), path, sqlitedb.Options{Migrations: list, Table: "migration"})
		assert.Equal(t, sqlitedb.Format, sqlitedb.FaultOf(err), name)
	}
	bad := scripts(`CREATE TABLE a (n INTEGER)`, `CREATE TABLE oops (`)
	other := filepath.Join(t.TempDir(), "b.db")
	_, err := sqlitedb.Open(context.Background(), other, sqlitedb.Options{Migrations: bad, Table: "migration"})
	assert.ErrorContains(t, err, "migration 002_x")
}

func TestOpenRejectsAPathThatIsNoDatabase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600))
	for path, want := range map[string]sqlitedb.Fault{"": sqlitedb.Path, folder: sqlitedb.Path, text: sqlitedb.Format} {
		_, err := sqlitedb.Open(context.Background(), path, sqlitedb.Options{Migrations: tables, Table: "migration"})
		assert.Error(t, err, "open %q", path)
		assert.Equal(t, want, sqlitedb.FaultOf(err), "open %q", path)
	}
	_, err := sqlitedb.Open(context.Background(), filepath.Join(folder, "none", "a.db"), sqlitedb.Options{})
	assert.ErrorIs(t, err, fs.ErrNotExist, "no folder")
}

func TestFaultOfAFullDatabase(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "a.db"), sqlitedb.Options{Migrations: tables, MaxSize: 40_000})
	fill := func(w *sqlitedb.Session) error {
		_, err := w.Exec(`INSERT INTO a (text) VALUES (?)`, strings.Repeat("x", 100_000))
		return err
	}
	err := db.Change(context.Background(), fill)
	assert.Equal(t, sqlitedb.Full, sqlitedb.FaultOf(err))
	assert.Equal(t, 0, count(t, db, "a"))
}

func TestEveryMethodFailsAfterClose(t *testing.T) {
	t.Parallel()
	db := open(t, sqlitedb.Memory, sqlitedb.Options{Migrations: tables})
	for range 2 {
		require.NoError(t, db.Close())
	}
	nothing := func(*sqlitedb.Session) error { return nil }
	for name, err := range map[string]error{
		"read": db.Read(context.Background(), nothing), "change": db.Change(context.Background(), nothing), "write": db.Write(context.Background(), nothing), "empty": db.Empty(context.Background()),
	} {
		assert.ErrorIs(t, err, fs.ErrClosed, name)
	}
}

// Empty fails while a reader uses the write-ahead log, and empties it afterwards.
func TestEmptyFailsDuringARead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, sqlitedb.Options{Migrations: tables, BusyTimeout: -1})
	insert := func(w *sqlitedb.Session) error {
		_, err := w.Exec(`INSERT INTO a (text) VALUES ('x')`)
		return err
	}
	require.NoError(t, db.Change(context.Background(), insert))
	err := db.Read(context.Background(), func(q *sqlitedb.Session) error {
		var n int
		if _, err := q.One(`SELECT count(*) FROM a`, nil, &n); err != nil {
			return err
		}
		if err := db.Change(context.Background(), insert); err != nil {
			return err
		}
		assert.ErrorIs(t, db.Empty(context.Background()), sqlitedb.ErrInUse)
		return nil
	})
	require.NoError(t, err)
	assert.NoError(t, db.Empty(context.Background()))
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	assert.Zero(t, info.Size())
}
