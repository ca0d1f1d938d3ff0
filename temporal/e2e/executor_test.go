package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/executortest"
	_ "github.com/weft-go/weft/temporal" // sets seam.Executor
	"github.com/weft-go/weft/temporal/internal/seam"
)

// TestExecutorPassesTheSuite proves the promises of the seam for tasks that are activities.
func TestExecutorPassesTheSuite(t *testing.T) {
	t.Parallel()
	s := shared()
	executortest.Run(t, executortest.Harness{Start: func(tb testing.TB, run executortest.RunFunc) graph.Executor {
		funcs, worker := seam.Executor(s.Client, queueOf(tb), 2, run)
		require.NoError(tb, worker.Start())
		tb.Cleanup(worker.Stop)
		return funcs
	}})
}
