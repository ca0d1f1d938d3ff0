package memorytest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestKnowledgeInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunKnowledge(t, func(testing.TB) knowledge.Store { return knowledge.NewInMemory() })
}
