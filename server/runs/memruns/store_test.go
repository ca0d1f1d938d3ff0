package memruns_test

import (
	"testing"

	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/runstest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	runstest.Run(t, func(testing.TB) runs.Store { return memruns.New() })
}
