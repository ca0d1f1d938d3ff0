package memorytest_test

import (
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/memorytest"
)

func inMemory(testing.TB) memory.Store { return memory.NewInMemory(memory.InMemoryOptions{}) }

func TestInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunFacts(t, inMemory)
}

func BenchmarkInMemory(b *testing.B) { memorytest.BenchFacts(b, inMemory) }
