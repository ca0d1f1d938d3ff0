package executortest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/suitetest"
)

type executeFunc = func(context.Context, []graph.TaskSet) error

// runAll returns a correct executor, which runs the sets one after the other.
func runAll(run RunFunc) executeFunc {
	return func(ctx context.Context, sets []graph.TaskSet) error {
		for _, s := range sets {
			if err := run(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
}

// brokenExecutors has executors that each break one promise. The field fails is the name of a case
// that must fail for the executor.
var brokenExecutors = []struct {
	name, fails string
	make        func(RunFunc) executeFunc
}{
	{"drops the last task", "results/fan_out", func(run RunFunc) executeFunc {
		return func(ctx context.Context, sets []graph.TaskSet) error {
			sets[0].Tasks = sets[0].Tasks[:len(sets[0].Tasks)-1]
			return runAll(run)(ctx, sets)
		}
	}},
	{"drops a set", "results/beside", func(run RunFunc) executeFunc {
		return func(ctx context.Context, sets []graph.TaskSet) error { return runAll(run)(ctx, sets[1:]) }
	}},
	{"changes the set", "results/identity", func(run RunFunc) executeFunc {
		return runAll(func(ctx context.Context, s graph.TaskSet) error {
			s.RemainingSteps = 1
			return run(ctx, s)
		})
	}},
	{"answers for the node", "failures/error", func(run RunFunc) executeFunc {
		return func(ctx context.Context, sets []graph.TaskSet) error {
			_ = runAll(run)(ctx, sets)
			return context.DeadlineExceeded
		}
	}},
}

func TestSuiteFindsBrokenExecutors(t *testing.T) {
	t.Parallel()
	for _, broken := range brokenExecutors {
		t.Run(broken.name, func(t *testing.T) {
			t.Parallel()
			h := Harness{
				Open: func(testing.TB) checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) },
				Start: func(_ testing.TB, run RunFunc) graph.Executor {
					return graph.Executor{Execute: broken.make(run)}
				},
			}
			i := slices.IndexFunc(allCases(), func(c testCase) bool { return c.name == broken.fails })
			require.GreaterOrEqual(t, i, 0, "no case %s", broken.fails)
			assert.True(t, fails(h, allCases()[i]), "%s accepts the broken executor", broken.fails)
		})
	}
}

// fails reports whether a case fails for the executors of a harness.
func fails(h Harness, c testCase) bool {
	return len(suitetest.Record(func(tb testing.TB) { h.check(tb, c) })) > 0
}

// The suite fails for the first drafts of executors, and does not hang or panic.
func TestSuiteEndsForDrafts(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(RunFunc) executeFunc{
		"nil":     func(RunFunc) executeFunc { return nil },
		"nothing": func(RunFunc) executeFunc { return func(context.Context, []graph.TaskSet) error { return nil } },
		"panics": func(RunFunc) executeFunc {
			return func(context.Context, []graph.TaskSet) error { panic("not written yet") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Harness{
				Open: func(testing.TB) checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) },
				Start: func(_ testing.TB, run RunFunc) graph.Executor {
					return graph.Executor{Execute: start(run)}
				},
			}
			var failed []string
			for _, c := range allCases() {
				if fails(h, c) {
					failed = append(failed, c.name)
				}
			}
			assert.Contains(t, failed, "results/fan_out")
			assert.Contains(t, failed, "delivery/overlap")
		})
	}
}
