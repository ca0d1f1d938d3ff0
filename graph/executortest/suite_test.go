package executortest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/executortest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGoroutinesPassTheSuite proves that an executor passes the suite if it splits each set into sets of
// two tasks, and calls RunTasks for each in a goroutine of this process.
func TestGoroutinesPassTheSuite(t *testing.T) {
	t.Parallel()
	executortest.Run(t, executortest.Harness{Start: func(_ testing.TB, run executortest.RunFunc) graph.Executor {
		return graph.Executor{Execute: func(ctx context.Context, sets []graph.TaskSet) error {
			var (
				group sync.WaitGroup
				mu    sync.Mutex
				errs  []error
			)
			for _, s := range sets {
				for part := range slices.Chunk(s.Tasks, 2) {
					group.Go(func() {
						set := s
						set.Tasks = part
						err := run(ctx, set)
						mu.Lock()
						defer mu.Unlock()
						errs = append(errs, err)
					})
				}
			}
			group.Wait()
			return errors.Join(errs...)
		}}
	}})
}
