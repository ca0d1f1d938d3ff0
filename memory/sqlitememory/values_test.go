package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory/kv"
	"github.com/weft-go/weft/memory/memorytest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func openValues(tb testing.TB) kv.Store {
	return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Values()
}

func openValuesInMemory(tb testing.TB) kv.Store {
	return open(tb, sqlitememory.Memory, options).Values()
}

func TestValues(t *testing.T) {
	t.Parallel()
	memorytest.RunKV(t, openValues)
}

func TestValuesInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunKV(t, openValuesInMemory)
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	memorytest.RunProfiles(t, openValues)
}

func TestProfilesInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunProfiles(t, openValuesInMemory)
}
