package memorytest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/kv"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestProfilesInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunProfiles(t, func(testing.TB) kv.Store { return kv.NewInMemory(kv.InMemoryOptions{}) })
}
