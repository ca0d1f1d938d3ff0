package sqlitecheckpoint_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

const maxValue = 100_000

var options = sqlitecheckpoint.Options{MaxValue: maxValue, Synchronous: sqlitecheckpoint.Normal}

func open(tb testing.TB, path string, o sqlitecheckpoint.Options) *sqlitecheckpoint.Store {
	tb.Helper()
	store, err := sqlitecheckpoint.Open(context.Background(), path, o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		assert.NoError(tb, store.Close())
	})
	return store
}

// openRaw opens a database without a store.
func openRaw(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func rawDB(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := openRaw(path)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

func TestConformance(t *testing.T) {
	t.Parallel()
	var paths sync.Map
	checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store {
			path := filepath.Join(tb.TempDir(), "weft.db")
			store := open(tb, path, options)
			paths.Store(store, path)
			return store
		},
		Reopen: func(tb testing.TB, store checkpoint.Store) checkpoint.Store {
			require.NoError(tb, store.(*sqlitecheckpoint.Store).Close())
			path, _ := paths.Load(store)
			again := open(tb, path.(string), options)
			paths.Store(again, path)
			return again
		},
		Corrupt: func(tb testing.TB, store checkpoint.Store, k checkpoint.Key, offset int) bool {
			path, _ := paths.Load(store)
			return flip(tb, rawDB(tb, path.(string)), k, offset)
		},
		MaxValue: maxValue,
	}.Run(t)
}

func TestConformanceInMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Harness{
		Open:     func(tb testing.TB) checkpoint.Store { return open(tb, sqlitecheckpoint.Memory, options) },
		MaxValue: maxValue,
	}.Run(t)
}

// flip flips a bit in the stored values of a checkpoint. It returns false if the offset is
// beyond the last value.
func flip(tb testing.TB, db *sql.DB, k checkpoint.Key, offset int) bool {
	tb.Helper()
	var key int64
	err := db.QueryRow(`SELECT s.key FROM cp_step s JOIN cp_thread t ON t.key = s.key >> 32
		LEFT JOIN cp_namespace n ON n.key = s.namespace
		WHERE t.id = ? AND coalesce(n.name, '') = ?
		AND CASE typeof(s.id) WHEN 'blob' THEN lower(hex(s.id)) = replace(?, '-', '') ELSE s.id = ? END`,
		k.Thread, k.Namespace, k.ID, k.ID).Scan(&key)
	require.NoError(tb, err)
	for _, column := range []string{"changes", "snapshot", "control"} {
		if flipColumn(tb, db, `cp_step`, column, `key = ?`, []any{key}, &offset) {
			return true
		}
	}
	rows, err := db.Query(`SELECT task, number FROM cp_pending WHERE step = ? ORDER BY task, number`, key)
	require.NoError(tb, err)
	var writes [][]any
	for rows.Next() {
		var task string
		var number int
		require.NoError(tb, rows.Scan(&task, &number))
		writes = append(writes, []any{key, task, number})
	}
	require.NoError(tb, rows.Close())
	for _, w := range writes {
		if flipColumn(tb, db, `cp_pending`, "data", `step = ? AND task = ? AND number = ?`, w, &offset) {
			return true
		}
	}
	return false
}

// flipColumn flips a bit of the byte at the offset of a column. If the value is shorter, it
// subtracts its length from the offset and returns false.
func flipColumn(tb testing.TB, db *sql.DB, table, column, where string, args []any, offset *int) bool {
	tb.Helper()
	var value []byte
	require.NoError(tb, db.QueryRow(`SELECT `+column+` FROM `+table+` WHERE `+where, args...).Scan(&value))
	if *offset >= len(value) {
		*offset -= len(value)
		return false
	}
	value[*offset] ^= 1 << (*offset % 8)
	_, err := db.Exec(`UPDATE `+table+` SET `+column+` = ? WHERE `+where, append([]any{value}, args...)...)
	require.NoError(tb, err)
	return true
}
