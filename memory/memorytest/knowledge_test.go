package memorytest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/memorytest"
)

func knowledgeInMemory(testing.TB) knowledge.Store { return knowledge.NewInMemory() }

func TestKnowledgeInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunKnowledge(t, knowledgeInMemory)
}

func BenchmarkKnowledgeInMemory(b *testing.B) { memorytest.BenchKnowledge(b, knowledgeInMemory) }
