package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func openValues(tb testing.TB) driver.ValueStore {
	return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Values()
}

func openValuesInMemory(tb testing.TB) driver.ValueStore {
	return open(tb, sqlitememory.Memory, options).Values()
}

func TestValues(t *testing.T) {
	t.Parallel()
	drivertest.RunValues(t, openValues)
}

func TestValuesInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunValues(t, openValuesInMemory)
}
