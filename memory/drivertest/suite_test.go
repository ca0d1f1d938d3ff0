package drivertest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/inmemory"
)

func inMemory(testing.TB) driver.FactStore { return inmemory.NewFacts(inmemory.Options{}) }

func TestInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunFacts(t, inMemory)
}

func BenchmarkInMemory(b *testing.B) { drivertest.BenchFacts(b, inMemory) }
