package drivertest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/inmemory"
)

func knowledgeInMemory(testing.TB) driver.DocumentStore { return inmemory.NewDocuments() }

func TestKnowledgeInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, knowledgeInMemory)
}

func BenchmarkKnowledgeInMemory(b *testing.B) { drivertest.BenchDocuments(b, knowledgeInMemory) }
