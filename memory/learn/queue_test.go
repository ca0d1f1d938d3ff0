package learn_test

import (
	"testing"

	"github.com/weft-go/weft/memory/learn"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestInProcess(t *testing.T) {
	t.Parallel()
	memorytest.RunQueue(t, func(testing.TB) learn.Queue { return learn.NewInProcess() })
}
