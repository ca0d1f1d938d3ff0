//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

func init() {
	// The arguments are URL and SCHEMA. The process starts or resumes a thread. The second
	// node of the graph kills the process.
	roles["poison"] = func(ctx context.Context, args []string) error {
		store, err := pgcheckpoint.Open(ctx, args[0], pgcheckpoint.Options{
			Schema: args[1], LeaseTime: time.Second, Busy: pgcheckpoint.Wait,
		})
		if err != nil {
			return err
		}
		defer store.Close()
		g, err := poison(store, killSelf)
		if err != nil {
			return err
		}
		_, err = startOrResume(ctx, g.Thread("poison"))
		if errors.Is(err, pgcheckpoint.ErrParked) {
			fmt.Println("parked")
			return nil
		}
		return err
	}
}

func poison(store *pgcheckpoint.Store, act func()) (*graph.Graph, error) {
	b := graph.New("poison", trail)
	b.Node("eat", func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put("eaten")}, nil })
	b.Node("killSelf", func(context.Context, state.View) (state.Update, error) {
		act()
		return state.Update{trail.Put("survived")}, nil
	})
	b.Edge(graph.Start, "eat")
	b.Edge("eat", "killSelf")
	return b.Compile(graph.Options{Checkpoints: store})
}

// F19: a thread kills every process that runs it. After five recoveries the thread is
// parked with a reason, until Unpark is called. The throughput of other threads hardly
// changes.
func TestF19ThreadThatKillsProcessesIsParked(t *testing.T) {
	begin(t)
	o := newSchema(t)
	o.LeaseTime = time.Second
	store := open(t, pgtest.DirectURL(t), o)
	run := func() bool {
		t.Helper()
		p, err := fault.Spawn(t.Context(), "poison", pgtest.DirectURL(t), o.Schema)
		require.NoError(t, err)
		line, _ := p.Line()
		killed, err := p.Wait()
		require.NoError(t, err)
		require.NotEqual(t, killed, line == "parked", "the process printed %q", line)
		return killed
	}
	deaths := 0
	for deaths < 20 && run() {
		deaths++
	}
	assert.Equal(t, 6, deaths, "killed processes: the first run and five recoveries")
	g, err := poison(store, func() {})
	require.NoError(t, err)
	_, err = g.Thread("poison").Invoke(t.Context())
	assert.ErrorIs(t, err, pgcheckpoint.ErrParked, "a run")
	t.Logf("F19: parked after %d deaths: %v", deaths, err)
	snap, err := g.Thread("poison").Snapshot(t.Context())
	require.NoError(t, err, "snapshot of a parked thread")
	assert.Equal(t, 1, trail.Len(snap))
	parkedCost(t, store, g)

	assert.NoError(t, store.Unpark(t.Context(), "poison"), "unpark")
	assert.True(t, run(), "Unpark permits one run")
	assert.False(t, run(), "Unpark permits only one run")
	assert.NoError(t, store.Unpark(t.Context(), "poison"), "unpark")
	snap, err = g.Thread("poison").Invoke(t.Context()) // the node of g does not kill this process
	require.NoError(t, err)
	assert.Equal(t, 2, trail.Len(snap))
}

// parkedCost measures the throughput of other threads in two alternating situations. In one
// of them a goroutine tries to recover the parked thread.
func parkedCost(t *testing.T, store *pgcheckpoint.Store, parked *graph.Graph) {
	t.Helper()
	g, err := fan(store, 2, ignoreProgress)
	require.NoError(t, err)
	var all sync.WaitGroup
	var runs, tries atomic.Int64
	var recovering, ended atomic.Bool
	for w := range 4 {
		all.Go(func() {
			for n := 0; !ended.Load(); n++ {
				_, err := g.Thread(fmt.Sprint("t", w, ".", n)).Invoke(t.Context(), graph.Begin())
				if !assert.NoError(t, err) {
					return
				}
				runs.Add(1)
			}
		})
	}
	all.Go(func() {
		for !ended.Load() {
			<-time.After(200 * time.Millisecond) // a service does not try more often
			if recovering.Load() {
				_, err := parked.Thread("poison").Invoke(t.Context())
				assert.ErrorIs(t, err, pgcheckpoint.ErrParked, "recovered")
				tries.Add(1)
			}
		}
	})
	var with, without int64
	for range count(2, 40) {
		for _, on := range []bool{false, true} {
			recovering.Store(on)
			before := runs.Load()
			<-time.After(250 * time.Millisecond)
			if did := runs.Load() - before; on {
				with += did
			} else {
				without += did
			}
		}
	}
	ended.Store(true)
	all.Wait()
	share := float64(with) / float64(max(without, 1))
	t.Logf("F19: the throughput of other threads was %.0f %% during %d attempts to run the parked thread", 100*share, tries.Load())
	if long() {
		assert.GreaterOrEqual(t, share, 0.95, "relative throughput of other threads")
	}
}
