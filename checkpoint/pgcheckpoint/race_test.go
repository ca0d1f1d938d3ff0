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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// setting is a count that the environment may raise.
func setting(t *testing.T, name string, n int) int {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return n
}

// Sixteen writers race for every checkpoint of a thread: what was acknowledged is what
// is stored, and every refusal says so.
func TestWritersRace(t *testing.T) {
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
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if won.Load() != 1 || refused.Load() != writers-1 {
			t.Fatalf("round %d: %d won and %d were refused", round, won.Load(), refused.Load())
		}
		head = next.Load().(string)
		acknowledged = append(acknowledged, head)
	}
	c := newest(t, stores[0], "t")
	if len(c.Lineage) != rounds {
		t.Fatalf("got %d checkpoints want %d", len(c.Lineage), rounds)
	}
	for i, d := range c.Lineage {
		if d.ID != acknowledged[i] {
			t.Fatalf("checkpoint %d: got %q want the acknowledged %q", i, d.ID, acknowledged[i])
		}
	}
	wantSteps(t, stores[0], "t", rounds)
	// Refused writers leave no gap either.
	if seq := ask[int](t, p, `SELECT seq FROM weft.cp_thread`); seq != rounds {
		t.Errorf("the thread has counted to %d, want %d", seq, rounds)
	}
}

// Of 64 who answer one question at once, exactly one goes on.
func TestResumesRace(t *testing.T) {
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
		if err != nil {
			t.Fatal(err)
		}
		graphs[i] = g
	}
	for round := range setting(t, "WEFT_RESUMES", 5) {
		thread := fmt.Sprint("desk-", round)
		snap, err := graphs[0].Thread(thread).Invoke(t.Context(), graph.Begin())
		if err != nil {
			t.Fatal(err)
		}
		open, err := approve.Open(snap)
		if err != nil || len(open) != 1 {
			t.Fatalf("got %d questions, error %v", len(open), err)
		}
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
					t.Errorf("got error %v", err)
				}
			})
		}
		wait.Wait()
		if done.Load() != 1 || effects.Load() != 1 {
			t.Errorf("round %d: %d went on and the effect happened %d times, want 1 and 1", round, done.Load(), effects.Load())
		}
	}
}

// Workers steal a thread from each other all the time. None of them stores anything
// under a lease that it has lost.
func TestStolenLeases(t *testing.T) {
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
					t.Error(err)
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
						t.Error(err)
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
	if stale != 0 {
		t.Errorf("%d checkpoints were stored under a lease that was lost", stale)
	}
	if stored.Load() == 0 || fenced.Load() == 0 {
		t.Errorf("got %d commits and %d refusals: nothing was proved", stored.Load(), fenced.Load())
	}
	wantSteps(t, store, "t", int(stored.Load())+1)
}
