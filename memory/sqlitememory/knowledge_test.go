package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/memorytest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func openKnowledge(tb testing.TB) knowledge.Store {
	return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Knowledge()
}

func TestKnowledge(t *testing.T) {
	t.Parallel()
	memorytest.RunKnowledge(t, openKnowledge)
}

func TestKnowledgeInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunKnowledge(t, func(tb testing.TB) knowledge.Store {
		return open(tb, sqlitememory.Memory, options).Knowledge()
	})
}

func BenchmarkKnowledge(b *testing.B) { memorytest.BenchKnowledge(b, openKnowledge) }
