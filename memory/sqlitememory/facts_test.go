package sqlitememory_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func open(tb testing.TB, path string, o sqlitememory.Options) *sqlitememory.DB {
	tb.Helper()
	db, err := sqlitememory.Open(context.Background(), path, o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		assert.NoError(tb, db.Close())
	})
	return db
}

var options = sqlitememory.Options{Synchronous: sqlitememory.Normal}

func TestFacts(t *testing.T) {
	t.Parallel()
	drivertest.RunFacts(t, func(tb testing.TB) driver.FactStore {
		return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Facts()
	})
}

func TestFactsInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunFacts(t, func(tb testing.TB) driver.FactStore { return open(tb, sqlitememory.Memory, options).Facts() })
}

func BenchmarkFacts(b *testing.B) {
	drivertest.BenchFacts(b, func(tb testing.TB) driver.FactStore {
		return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Facts()
	})
}
