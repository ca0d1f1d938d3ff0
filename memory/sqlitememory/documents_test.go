package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func openKnowledge(tb testing.TB) driver.DocumentStore {
	return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Documents()
}

func TestKnowledge(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, openKnowledge)
}

func TestKnowledgeInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore {
		return open(tb, sqlitememory.Memory, options).Documents()
	})
}

func BenchmarkKnowledge(b *testing.B) { drivertest.BenchDocuments(b, openKnowledge) }
