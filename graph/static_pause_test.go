package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestStaticPausesStopRuns proves where a run stops for each option of the graph and of
// the run, and that the next run resumes there.
func TestStaticPausesStopRuns(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		cases := map[string]struct {
			graph graph.Options
			run   graph.RunOptions
			stops []string // the kind, the nodes and the trail of each pause
		}{
			"before":  {graph: graph.Options{PauseBefore: []string{"b"}}, stops: []string{"before [b] [a]"}},
			"after":   {graph: graph.Options{PauseAfter: []string{"b"}}, stops: []string{"after [b] [a b c]"}},
			"first":   {graph: graph.Options{PauseBefore: []string{"a"}}, stops: []string{"before [a] []"}},
			"last":    {graph: graph.Options{PauseAfter: []string{"d"}}},
			"run":     {run: graph.RunOptions{PauseBefore: []string{"d"}}, stops: []string{"before [d] [a b c]"}},
			"both":    {graph: graph.Options{PauseBefore: []string{"b"}}, run: graph.RunOptions{PauseAfter: []string{"c"}}, stops: []string{"before [b] [a]", "after [c] [a b c]"}},
			"beside":  {graph: graph.Options{PauseBefore: []string{"b", "c"}}, stops: []string{"before [b c] [a]"}},
			"all":     {graph: graph.Options{PauseBefore: []string{graph.AllNodes}}, stops: []string{"before [a] []", "before [b c] [a]", "before [d] [a b c]"}},
			"run all": {run: graph.RunOptions{PauseAfter: []string{graph.AllNodes}}, stops: []string{"after [a] [a]", "after [b c] [a b c]"}},
		}
		for name, c := range cases {
			b := graph.New("g", trail, note)
			for _, n := range []string{"a", "b", "c", "d"} {
				b.Node(n, mark(n))
			}
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("a", "c")
			b.Join("d", "b", "c")
			c.graph.Checkpoints = s
			th := compile(t, b, c.graph).Thread(name).With(c.run)
			snap := invoke(t, th, note.Put("go"))
			for _, stop := range c.stops {
				var nodes []string
				for _, p := range snap.Pauses {
					nodes = append(nodes, p.Node)
				}
				require.NotEmpty(t, snap.Pauses, name)
				require.Equal(t, stop, fmt.Sprint(snap.Pauses[0].Kind, " ", nodes, " ", trail.Get(snap)), name)
				snap = invoke(t, th)
			}
			require.True(t, snap.Done(), name)
			require.Empty(t, snap.Pauses, name)
			require.Len(t, trail.Get(snap), 4, name)
		}
	})
}

// TestStaticPauseNeedsAStore proves that a run without a store fails at a static pause.
func TestStaticPauseNeedsAStore(t *testing.T) {
	t.Parallel()
	g := trailGraph(t, graph.Options{PauseBefore: []string{"b"}}, "a", "b")
	_, err := g.Invoke(t.Context(), trail.Put("in"))
	require.ErrorIs(t, err, graph.ErrNoStore)
}

// TestStaticPauseSurvivesProcess proves that a snapshot that is read from the store has the
// static pause, and that a run stops at a pause whose record was lost in a crash.
func TestStaticPauseSurvivesProcess(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := trailGraph(t, graph.Options{Checkpoints: s, PauseBefore: []string{"b"}}, "a", "b")
		th := g.Thread("t")
		invoke(t, th, trail.Put("in"))
		snap := snapshot(t, th)
		require.Len(t, snap.Pauses, 1)
		require.Equal(t, graph.PauseBefore, snap.Pauses[0].Kind)
		require.Equal(t, "b", snap.Pauses[0].Node)
		done(t, th)

		// The store loses the record of the pause, as if the process had crashed before it.
		store := &forgetful{Store: s, forget: true}
		crashed := trailGraph(t, graph.Options{Checkpoints: store, PauseBefore: []string{"b"}}, "a", "b").Thread("crashed")
		_, err := crashed.Invoke(t.Context(), trail.Put("in"))
		require.ErrorIs(t, err, errFault)
		snap = invoke(t, crashed)
		assert.False(t, snap.Done())
		assert.Len(t, snap.Pauses, 1)
	})
}

// A forgetful store loses the next call of PutWrites.
type forgetful struct {
	checkpoint.Store
	forget bool
}

func (f *forgetful) PutWrites(ctx context.Context, k checkpoint.Key, w []checkpoint.Write) error {
	if f.forget {
		f.forget = false
		return errFault
	}
	return f.Store.PutWrites(ctx, k, w)
}

// TestPauseAfterIsNotSkippedByACrash proves that if a run crashed after a commit and before
// the record of the pause was stored, the next run pauses there, and only once.
func TestPauseAfterIsNotSkippedByACrash(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		store := &forgetful{Store: s, forget: true}
		b := graph.New("test", note, trail)
		b.Node("a", mark("a"))
		b.Node("b", mark("b"))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		g, err := b.Compile(graph.Options{Checkpoints: store, PauseAfter: []string{"a"}})
		require.NoError(t, err)
		th := g.Thread("t")
		_, err = th.Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, errFault)

		snap, err := th.Invoke(t.Context())
		require.NoError(t, err)
		require.Len(t, snap.Pauses, 1)
		assert.Equal(t, graph.PauseAfter, snap.Pauses[0].Kind)
		snap, err = th.Invoke(t.Context())
		require.NoError(t, err)
		assert.True(t, snap.Done())
		assert.Equal(t, []string{"a", "b"}, trail.Get(snap))
	})
}

// TestDrainedRunPauses proves that if a run is drained in the superstep before a static pause, the run ends
// with the pause and without ErrDrained, and the next run resumes after the pause. With ErrDrained, the pause
// would be lost, because the run after a drained run does not pause before its first superstep.
func TestDrainedRunPauses(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		ctx, drain := context.WithCancelCause(t.Context())
		b := graph.New("g", trail, note)
		b.Node("a", func(context.Context, state.View) (state.Update, error) {
			drain(graph.ErrDrained)
			return state.Update{trail.Put("a")}, nil
		})
		b.Node("b", mark("b"))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		th := compile(t, b, graph.Options{Checkpoints: s}).Thread("t").With(graph.RunOptions{PauseBefore: []string{"b"}})
		snap, err := th.Invoke(ctx, note.Put("go"))
		require.NoError(t, err)
		require.Len(t, snap.Pauses, 1)
		require.Equal(t, "b", snap.Pauses[0].Node)
		require.True(t, invoke(t, th).Done())
	})
}
