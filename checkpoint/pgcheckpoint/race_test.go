package pgcheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// setting returns n, or the number in an environment variable if it is set.
func setting(t *testing.T, name string, n int) int {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err, name)
	}
	return n
}

// Sixteen writers put the next checkpoint of a thread at the same time. One of them
// succeeds and the others get an error. The store has exactly the acknowledged checkpoints.
func TestOneOfManyConcurrentWritersSucceeds(t *testing.T) {
	t.Parallel()
	const writers = 16
	rounds := setting(t, "WEFT_ROUNDS", 300)
	p := newPlace(t)
	stores := []*pgcheckpoint.Store{p.open(t), p.open(t)}
	head := ""
	var acknowledged []string
	for round := range rounds {
		var won, refused atomic.Int32
		var next atomic.Value
		var wait sync.WaitGroup
		for w := range writers {
			wait.Go(func() {
				c := step("t", round*writers+w+1)
				c.Parent = head
				switch err := stores[w%2].Put(context.Background(), c, head); {
				case err == nil:
					won.Add(1)
					next.Store(c.ID)
				case errors.Is(err, checkpoint.ErrConflict):
					refused.Add(1)
				default:
					assert.NoError(t, err)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, 1, won.Load(), "round %d", round)
		require.EqualValues(t, writers-1, refused.Load(), "round %d", round)
		head = next.Load().(string)
		acknowledged = append(acknowledged, head)
	}
	c := newest(t, stores[0], "t")
	require.Len(t, c.Lineage, rounds)
	for i, d := range c.Lineage {
		require.Equal(t, acknowledged[i], d.ID)
	}
	wantSteps(t, stores[0], "t", rounds)
	// Failed writers must leave no gaps in the numbers.
	assert.Equal(t, rounds, ask[int](t, p, `SELECT seq FROM weft.cp_thread`))
}

func TestOneOfManyConcurrentAnswersResumesTheRun(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	approve := graph.NewInterrupt[string, bool]("approve")
	note := state.Append[string]("note")
	p := newPlace(t)
	graphs := make([]*graph.Graph, 4)
	for i := range graphs {
		b := graph.New("desk", note)
		b.Node("refund", func(ctx context.Context, _ state.View) (state.Update, error) {
			if _, err := approve.Wait(ctx, "refund 3?"); err != nil {
				return nil, err
			}
			effects.Add(1)
			return state.Update{note.Put("refunded")}, nil
		})
		b.Edge(graph.Start, "refund")
		g, err := b.Compile(graph.Options{Checkpoints: p.open(t)})
		require.NoError(t, err)
		graphs[i] = g
	}
	for round := range setting(t, "WEFT_RESUMES", 5) {
		thread := fmt.Sprint("desk-", round)
		snap, err := graphs[0].Thread(thread).Invoke(t.Context(), graph.Begin())
		require.NoError(t, err)
		open, err := approve.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 1)
		question := open[0].ID
		effects.Store(0)
		var done atomic.Int32
		var wait sync.WaitGroup
		for i := range 64 {
			wait.Go(func() {
				snap, err := graphs[i%len(graphs)].Thread(thread).Invoke(context.Background(), approve.Answer(question, true))
				switch {
				case err == nil && snap.Done():
					done.Add(1)
				case err == nil, !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, graph.ErrNoQuestion):
					assert.Fail(t, "unexpected result", "got error %v", err)
				}
			})
		}
		wait.Wait()
		assert.EqualValues(t, 1, done.Load(), "round %d", round)
		assert.EqualValues(t, 1, effects.Load(), "round %d", round)
	}
}

// Runs take a thread from each other repeatedly. No run stores anything after it has lost
// its lease.
func TestLostLeaseStoresNothing(t *testing.T) {
	t.Parallel()
	const workers = 6
	steals := int64(setting(t, "WEFT_STEALS", 500))
	p := newPlace(t)
	p.options.Busy = pgcheckpoint.Interrupt
	store := p.open(t)
	putAll(t, store, "t", 1)
	var taken, stored, fenced atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			made := 0
			for taken.Add(1) <= steals {
				l, err := store.Lease(context.Background(), "t")
				if errors.Is(err, pgcheckpoint.ErrThreadBusy) {
					continue
				}
				if err != nil {
					assert.NoError(t, err)
					return
				}
				head := newest(t, l, "t").ID
				for lost := false; !lost && made < int(steals); {
					made++
					c := step("t", (w+1)<<24+made)
					c.Parent = head
					err := l.Put(context.Background(), c, head)
					switch {
					case err == nil:
						stored.Add(1)
						head = c.ID
						lost = taken.Load() >= steals
					case errors.Is(err, checkpoint.ErrConflict):
						fenced.Add(1)
						lost = true
					default:
						assert.NoError(t, err)
						lost = true
					}
				}
				wantNoErr(t, "release", l.Release(context.Background()))
			}
		})
	}
	wait.Wait()
	stale := ask[int](t, p, `SELECT count(*)::int FROM (SELECT epoch, max(epoch) OVER (ORDER BY seq) AS newest
		FROM weft.cp_step) s WHERE epoch < newest`)
	epochs := ask[int](t, p, `SELECT epoch FROM weft.cp_thread`)
	t.Logf("%d steals, %d epochs, %d commits, %d refused, %d under a stale epoch", steals, epochs, stored.Load(), fenced.Load(), stale)
	assert.Zero(t, stale)
	assert.NotZero(t, stored.Load())
	assert.NotZero(t, fenced.Load())
	wantSteps(t, store, "t", int(stored.Load())+1)
}
