package checkpointtest_test

import (
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(testing.TB) checkpoint.Store {
		return checkpoint.NewMemory(checkpoint.MemoryOptions{})
	})
}
