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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// taker is a graph that adds its input to a list.
func taker(t *testing.T, store checkpoint.Store) *graph.Graph {
	t.Helper()
	b := graph.New("taker", trail)
	b.Node("take", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "take")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// F7: sixteen workers give one thread new input, all the time. What was acknowledged
// is there, once and in order; what was refused is not.
func TestF07RacingInputs(t *testing.T) {
	begin(t)
	const workers = 16
	inputs := count(10, 100)
	for name, policy := range map[string]pgcheckpoint.BusyPolicy{"reject": pgcheckpoint.Reject, "wait": pgcheckpoint.Wait} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSchema(t)
			o.Busy = policy
			graphs := []*graph.Graph{taker(t, open(t, pgtest.URL(t), o)), taker(t, open(t, pgtest.URL(t), o))}
			given := make([][]string, workers)
			refused := make([]int, workers)
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
							refused[w]++
						default:
							t.Errorf("refused without a type: %v", err)
						}
					}
				})
			}
			all.Wait()
			snap, err := graphs[0].Thread("t").Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			stored := make([][]string, workers)
			for _, line := range trail.Get(snap) {
				var w, n int
				if _, err := fmt.Sscanf(line, "%d.%d", &w, &n); err != nil {
					t.Fatal(err)
				}
				stored[w] = append(stored[w], line)
			}
			acknowledged, turnedAway := 0, 0
			for w := range workers {
				if !slices.Equal(stored[w], given[w]) {
					t.Errorf("worker %d: %d inputs were acknowledged, and these are stored: %q", w, len(given[w]), stored[w])
				}
				acknowledged += len(given[w])
				turnedAway += refused[w]
			}
			t.Logf("F7 (%s): %d inputs acknowledged = stored, %d refused", name, acknowledged, turnedAway)
			if policy == pgcheckpoint.Wait && turnedAway > 0 {
				t.Errorf("%d inputs were refused to those who wait", turnedAway)
			}
			if acknowledged == 0 {
				t.Error("nothing was acknowledged")
			}
		})
	}
}

// question is what the node of a resume asks.
var question = graph.NewInterrupt[string, string]("question")

// F6: 64 at once answer one question. One of them goes on, and the effect happens once.
func TestF06Resumes(t *testing.T) {
	begin(t)
	const answers = 64
	rounds := count(3, 1000)
	o := newSchema(t)
	store := open(t, pgtest.URL(t), o)
	var mu sync.Mutex
	effects, outcomes := map[string]int{}, map[string]int{}
	b := graph.New("desk", trail)
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
	if err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		th := g.Thread(fmt.Sprint("t", round))
		snap, err := th.Invoke(t.Context(), graph.Begin())
		if err != nil {
			t.Fatal(err)
		}
		open, err := question.Open(snap)
		if err != nil || len(open) != 1 {
			t.Fatalf("got %d questions, error %v", len(open), err)
		}
		var all sync.WaitGroup
		for range answers {
			all.Go(func() {
				_, err := th.Invoke(t.Context(), question.Answer(open[0].ID, "yes"))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					outcomes["went on"]++
				case errors.Is(err, checkpoint.ErrConflict):
					outcomes["conflict"]++
				case errors.Is(err, graph.ErrNoQuestion):
					outcomes["too late"]++
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if n := outcomes["went on"]; n != rounds || len(effects) != rounds || slices.Max(slices.Collect(maps.Values(effects))) != 1 {
		t.Errorf("in %d rounds %d went on, and the effect happened in %d of them", rounds, n, len(effects))
	}
	t.Logf("F6: %d rounds of %d: %v", rounds, answers, outcomes)
}
