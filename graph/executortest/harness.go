package executortest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/suitetest"
)

// A RunFunc runs tasks in a worker, as [graph.Graph.RunTasks] does, and returns its error.
type RunFunc = func(ctx context.Context, s graph.TaskSet) error

// A Harness gives the suite access to the executor under test.
type Harness struct {
	// Start returns the functions of a new executor, whose workers call run for each set of tasks
	// that they receive. Start stops the executor in tb.Cleanup. The suite replaces the function
	// Takes. It calls Start from several goroutines.
	Start func(tb testing.TB, run RunFunc) graph.Executor
	// Open returns a new, empty store. Nil means a store in memory.
	Open func(tb testing.TB) checkpoint.Store
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.Open == nil {
		h.Open = func(testing.TB) checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) }
	}
	for _, c := range allCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h.check(t, c)
		})
	}
}

// caseLimit is the time after which the context of a case ends. A case that has not ended by then fails.
const caseLimit = 2 * time.Minute

// check runs one case. tb is a test, or a recorder in the tests of the suite.
func (h Harness) check(tb testing.TB, c testCase) {
	tb.Helper()
	suitetest.Run(tb, c.promise, caseLimit, func() { c.run(newFixture(tb, h)) })
}

// A testCase checks one promise.
type testCase struct {
	name    string // group/case
	promise string
	run     func(f *fixture)
}

func allCases() []testCase {
	list := slices.Concat(resultCases, failureCases, pauseCases, deliveryCases)
	slices.SortStableFunc(list, func(a, b testCase) int { return strings.Compare(a.name, b.name) })
	return list
}
