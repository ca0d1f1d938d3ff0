package server_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// openStores opens the stores of a server, by the kind of store. They are closed at the end of the test.
var openStores = map[string]func(*testing.T) (checkpoint.Store, runs.Store){
	"memory": func(*testing.T) (checkpoint.Store, runs.Store) {
		return memcheckpoint.New(memcheckpoint.Options{}), memruns.New()
	},
	"SQLite": func(t *testing.T) (checkpoint.Store, runs.Store) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "weft.db") // one file for both stores
		checkpoints, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, checkpoints.Close()) })
		store, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, store.Close()) })
		return checkpoints, store
	},
	"PostgreSQL": func(t *testing.T) (checkpoint.Store, runs.Store) {
		t.Helper()
		schema := pgtest.Schema(t)
		checkpoints, err := pgcheckpoint.Open(context.Background(), pgtest.DirectURL(t), pgcheckpoint.Options{Schema: schema})
		require.NoError(t, err)
		t.Cleanup(checkpoints.Close)
		store, err := pgruns.Open(context.Background(), pgtest.DirectURL(t), pgruns.Options{Schema: schema})
		require.NoError(t, err)
		t.Cleanup(store.Close)
		return checkpoints, store
	},
}

// openMemory opens a memory on the same kind of store.
var openMemory = map[string]func(*testing.T) *memory.Memory{
	"memory": func(t *testing.T) *memory.Memory {
		t.Helper()
		return newMemory(t, inmemory.New(inmemory.Options{}))
	},
	"SQLite": func(t *testing.T) *memory.Memory {
		t.Helper()
		db, err := sqlitememory.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), sqlitememory.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, db.Close()) })
		return newMemory(t, db)
	},
	"PostgreSQL": func(t *testing.T) *memory.Memory {
		t.Helper()
		db, err := pgmemory.Open(t.Context(), pgtest.DirectURL(t), pgmemory.Options{Schema: pgtest.Schema(t)})
		require.NoError(t, err)
		t.Cleanup(db.Close)
		return newMemory(t, db)
	},
}

func newMemory(t *testing.T, stores driver.Backend) *memory.Memory {
	t.Helper()
	m, err := memory.New(stores, memory.Options{})
	require.NoError(t, err)
	return m
}
