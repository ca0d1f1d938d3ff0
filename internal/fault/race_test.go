//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// appendGraph returns a graph that appends its input to a list.
func appendGraph(t *testing.T, store checkpoint.Store) *graph.Graph {
	t.Helper()
	b := graph.New("appender", trail)
	b.Node("take", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "take")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	return g
}

// F7: sixteen workers continuously send input to one thread. Every acknowledged input is
// stored once and in order. No rejected input is stored.
func TestF07RacingInputsAreStoredOnceInOrder(t *testing.T) {
	begin(t)
	const workers = 16
	inputs := count(10, 100)
	for name, policy := range map[string]pgcheckpoint.BusyPolicy{"reject": pgcheckpoint.Reject, "wait": pgcheckpoint.Wait} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSchema(t)
			o.Busy = policy
			graphs := []*graph.Graph{appendGraph(t, open(t, pgtest.URL(t), o)), appendGraph(t, open(t, pgtest.URL(t), o))}
			given := make([][]string, workers)
			rejected := make([]int, workers)
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for n := range inputs {
						line := fmt.Sprintf("%d.%03d", w, n)
						_, err := graphs[w%2].Thread("t").Invoke(t.Context(), trail.Put(line))
						switch {
						case err == nil:
							given[w] = append(given[w], line)
						case errors.Is(err, checkpoint.ErrConflict):
							rejected[w]++
						default:
							assert.NoError(t, err, "an input is rejected with ErrConflict only")
						}
					}
				})
			}
			all.Wait()
			snap, err := graphs[0].Thread("t").Snapshot(t.Context())
			require.NoError(t, err)
			stored := make([][]string, workers)
			for _, line := range trail.Get(snap) {
				var w, n int
				_, err := fmt.Sscanf(line, "%d.%d", &w, &n)
				require.NoError(t, err)
				stored[w] = append(stored[w], line)
			}
			acknowledged, conflicts := 0, 0
			for w := range workers {
				assert.Equal(t, given[w], stored[w], "acknowledged and stored inputs of worker %d", w)
				acknowledged += len(given[w])
				conflicts += rejected[w]
			}
			t.Logf("F7 (%s): %d inputs acknowledged = stored, %d rejected", name, acknowledged, conflicts)
			if policy == pgcheckpoint.Wait {
				assert.Zero(t, conflicts, "inputs rejected under the policy Wait")
			}
			assert.NotZero(t, acknowledged, "acknowledged inputs")
		})
	}
}

// question is the interrupt that the graphs of these tests use.
var question = graph.NewInterrupt[string, string]("question")

// F6: 64 goroutines answer one question concurrently. One answer resumes the run, and the
// side effect of the run happens once.
func TestF06OneOfManyAnswersResumes(t *testing.T) {
	begin(t)
	const answers = 64
	rounds := count(3, 1000)
	o := newSchema(t)
	store := open(t, pgtest.URL(t), o)
	var mu sync.Mutex
	effects, outcomes := map[string]int{}, map[string]int{}
	b := graph.New("refunds", trail)
	b.Node("refund", func(ctx context.Context, _ state.View) (state.Update, error) {
		a, err := question.Wait(ctx, "refund?")
		if err != nil {
			return nil, err
		}
		at, _ := graph.FromContext(ctx)
		mu.Lock()
		defer mu.Unlock()
		effects[at.Thread]++
		return state.Update{trail.Put(a)}, nil
	})
	b.Edge(graph.Start, "refund")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	for round := range rounds {
		th := g.Thread(fmt.Sprint("t", round))
		snap, err := th.Invoke(t.Context(), graph.Begin())
		require.NoError(t, err)
		open, err := question.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 1)
		var all sync.WaitGroup
		for range answers {
			all.Go(func() {
				_, err := th.Invoke(t.Context(), question.Answer(open[0].ID, "yes"))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					outcomes["resumed"]++
				case errors.Is(err, checkpoint.ErrConflict):
					outcomes["conflict"]++
				case errors.Is(err, graph.ErrNoQuestion):
					outcomes["too late"]++
				default:
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
	}
	assert.Equal(t, rounds, outcomes["resumed"], "resumed runs")
	assert.Len(t, effects, rounds, "threads with a side effect")
	assert.Equal(t, 1, slices.Max(slices.Collect(maps.Values(effects))), "most side effects of a thread")
	t.Logf("F6: %d rounds of %d: %v", rounds, answers, outcomes)
}
