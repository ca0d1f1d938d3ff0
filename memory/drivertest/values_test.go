package drivertest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/inmemory"
)

func TestKVInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunValues(t, func(testing.TB) driver.ValueStore { return inmemory.NewValues(inmemory.Options{}) })
}
