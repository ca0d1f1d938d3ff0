package memorytest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/kv"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestKVInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunKV(t, func(testing.TB) kv.Store { return kv.NewInMemory(kv.InMemoryOptions{}) })
}
