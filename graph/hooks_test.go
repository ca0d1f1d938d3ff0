package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

type hookKey struct{}

// A hookLog records the calls of hooks. The context of each hook has the names of the hooks
// around it.
type hookLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *hookLog) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *hookLog) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

func enclosingHooks(ctx context.Context) string {
	names, _ := ctx.Value(hookKey{}).(string)
	return names
}

func (l *hookLog) enter(ctx context.Context, name string) (context.Context, string) {
	names := enclosingHooks(ctx) + "/" + name
	l.add("begin %s", names)
	return context.WithValue(ctx, hookKey{}, names), names
}

func (l *hookLog) hooks() *graph.Hooks {
	return &graph.Hooks{
		Run: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
			ctx, names := l.enter(ctx, "run "+r.Graph)
			return ctx, func(e graph.Outcome) {
				l.add("end %s: resumed %t, steps %d, pauses %d, error %t", names, e.Resumed, e.Steps, len(e.Pauses), e.Err != nil)
			}
		},
		Step: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
			ctx, names := l.enter(ctx, fmt.Sprint("step ", r.Step))
			return ctx, func(e graph.Outcome) {
				l.add("end %s: tasks %d, paused %t, error %t", names, e.Tasks, e.Paused, e.Err != nil)
			}
		},
		Task: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
			ctx, names := l.enter(ctx, "task "+r.Task)
			return ctx, func(e graph.Outcome) {
				l.add("end %s: resumed %t, asked %t, error %t", names, r.Resumed, e.Paused, e.Err != nil)
			}
		},
		Retry: func(ctx context.Context, attempt int, err error) {
			l.add("retry %s: attempt %d, %v", enclosingHooks(ctx), attempt, err)
		},
	}
}

// TestHooksNest proves that the context of a hook reaches the hooks and nodes inside it, also in a
// subgraph, and that hooks report the run that pauses and the run that resumes it.
func TestHooksNest(t *testing.T) {
	t.Parallel()
	var log hookLog
	text := state.Last[string]("text")
	ask := graph.NewInterrupt[string, string]("ask")
	inner := graph.New("inner", text)
	inner.Node("wait", func(ctx context.Context, _ state.View) (state.Update, error) {
		log.add("node %s", enclosingHooks(ctx))
		answer, err := ask.Wait(ctx, "go on?")
		return state.Update{text.Put(answer)}, err
	})
	inner.Edge(graph.Start, "wait")
	sub := compile(t, inner, graph.Options{Hooks: &graph.Hooks{Run: func(context.Context, graph.Running) (context.Context, func(graph.Outcome)) {
		panic("the hooks of a subgraph do not apply")
	}}})
	b := graph.New("outer", text)
	b.Node("first", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Subgraph("sub", sub)
	b.Edge(graph.Start, "first")
	b.Edge("first", "sub")
	g := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), Hooks: log.hooks()})

	snap, err := g.Thread("t").Invoke(t.Context(), text.Put("in"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"begin /run outer",
		"begin /run outer/step 1",
		"begin /run outer/step 1/task first",
		"end /run outer/step 1/task first: resumed false, asked false, error false",
		"end /run outer/step 1: tasks 1, paused false, error false",
		"begin /run outer/step 2",
		"begin /run outer/step 2/task sub",
		"begin /run outer/step 2/task sub/run inner",
		"begin /run outer/step 2/task sub/run inner/step 1",
		"begin /run outer/step 2/task sub/run inner/step 1/task wait",
		"node /run outer/step 2/task sub/run inner/step 1/task wait",
		"end /run outer/step 2/task sub/run inner/step 1/task wait: resumed false, asked true, error false",
		"end /run outer/step 2/task sub/run inner/step 1: tasks 1, paused true, error false",
		"end /run outer/step 2/task sub/run inner: resumed false, steps 0, pauses 1, error false",
		"end /run outer/step 2/task sub: resumed false, asked true, error false",
		"end /run outer/step 2: tasks 1, paused true, error false",
		"end /run outer: resumed false, steps 1, pauses 1, error false",
	}, log.take())

	_, err = g.Thread("t").Invoke(t.Context(), ask.Answer(snap.Pauses[0].ID, "yes"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"begin /run outer",
		"begin /run outer/step 2",
		"begin /run outer/step 2/task sub",
		"begin /run outer/step 2/task sub/run inner",
		"begin /run outer/step 2/task sub/run inner/step 1",
		"begin /run outer/step 2/task sub/run inner/step 1/task wait",
		"node /run outer/step 2/task sub/run inner/step 1/task wait",
		"end /run outer/step 2/task sub/run inner/step 1/task wait: resumed true, asked false, error false",
		"end /run outer/step 2/task sub/run inner/step 1: tasks 1, paused false, error false",
		"end /run outer/step 2/task sub/run inner: resumed true, steps 1, pauses 0, error false",
		"end /run outer/step 2/task sub: resumed true, asked false, error false",
		"end /run outer/step 2: tasks 1, paused false, error false",
		"end /run outer: resumed true, steps 1, pauses 0, error false",
	}, log.take())
}

// TestHooksReportFailures proves that the ends of a task, a superstep and a run have the
// error of a node and of a panic, and that Retry is called between attempts.
func TestHooksReportFailures(t *testing.T) {
	t.Parallel()
	text := state.Last[string]("text")
	for name, fail := range map[string]graph.NodeFunc{
		"error": func(context.Context, state.View) (state.Update, error) { return nil, errors.New("broken") },
		"panic": func(context.Context, state.View) (state.Update, error) { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log hookLog
			b := graph.New("g", text)
			b.Node("n", node.Retry(node.RetryPolicy{Attempts: 2, Initial: -1, If: func(error) bool { return true }}, fail))
			b.Edge(graph.Start, "n")
			g := compile(t, b, graph.Options{Hooks: log.hooks()})
			_, err := g.Invoke(t.Context())
			require.Error(t, err)
			lines := log.take()
			require.Contains(t, lines[3], "retry /run g/step 1/task n: attempt 1, ")
			assert.Equal(t, []string{
				"end /run g/step 1/task n: resumed false, asked false, error true",
				"end /run g/step 1: tasks 1, paused false, error true",
				"end /run g: resumed false, steps 0, pauses 0, error true",
			}, lines[4:])
		})
	}
}

// TestHookOfRunSeesConflict proves that a run which does not get its thread calls the hook with the
// error, and that only the outcome of a run that got the thread has the id of the previous run.
func TestHookOfRunSeesConflict(t *testing.T) {
	t.Parallel()
	text := state.Last[string]("text")
	var results []graph.Outcome
	var ids []string
	hooks := &graph.Hooks{Run: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
		ids = append(ids, r.Run)
		return ctx, func(e graph.Outcome) { results = append(results, e) }
	}}
	var again func() error
	b := graph.New("g", text)
	b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) { return nil, again() })
	b.Edge(graph.Start, "n")
	g := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), Hooks: hooks})
	again = func() error { return nil }
	_, err := g.Thread("t").Invoke(t.Context(), text.Put("1"))
	require.NoError(t, err)
	again = func() error {
		_, err := g.Thread("t").Invoke(t.Context(), text.Put("3"))
		return err
	}
	_, err = g.Thread("t").Invoke(t.Context(), text.Put("2"))
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	require.Len(t, results, 3)
	assert.Empty(t, results[0].Previous)
	require.ErrorIs(t, results[1].Err, checkpoint.ErrConflict)
	assert.Empty(t, results[1].Previous, "a run that did not begin")
	assert.Equal(t, ids[0], results[2].Previous)
	slices.Sort(ids)
	assert.Len(t, slices.Compact(ids), 3)
}

// TestHookOfTaskMayStore proves that the function for the end of a task may use Once, and
// that the task finds the stored value when it runs again.
func TestHookOfTaskMayStore(t *testing.T) {
	t.Parallel()
	text := state.Last[string]("text")
	ask := graph.NewInterrupt[string, string]("ask")
	none := errors.New("none")
	var found []string
	hooks := &graph.Hooks{Task: func(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
		value, err := graph.Once(ctx, "mark", func(context.Context) (string, error) { return "", none })
		if err == nil {
			found = append(found, value)
		}
		return ctx, func(e graph.Outcome) {
			if e.Paused {
				_, err := graph.Once(ctx, "mark", func(context.Context) (string, error) { return r.Run, nil })
				assert.NoError(t, err)
			}
		}
	}}
	b := graph.New("g", text)
	b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
		answer, err := ask.Wait(ctx, "?")
		return state.Update{text.Put(answer)}, err
	})
	b.Edge(graph.Start, "n")
	g := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), Hooks: hooks})
	snap, err := g.Thread("t").Invoke(t.Context(), text.Put("in"))
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = g.Thread("t").Invoke(t.Context(), ask.Answer(snap.Pauses[0].ID, "yes"))
	require.NoError(t, err)
	assert.Equal(t, []string{snap.Run}, found)
}

// TestHooksOfFlow proves that a task of a flow calls the hook Task, inside the call for the
// node of the flow.
func TestHooksOfFlow(t *testing.T) {
	t.Parallel()
	var log hookLog
	f, err := flow.New("f", func(ctx context.Context, in string) (string, error) {
		return flow.Do(ctx, "upper", func(ctx context.Context) (string, error) {
			log.add("task %s", enclosingHooks(ctx))
			return in + "!", nil
		})
	}, graph.Options{Hooks: log.hooks()})
	require.NoError(t, err)
	snap, err := f.Graph.Invoke(t.Context(), f.Input("a"))
	require.NoError(t, err)
	assert.Equal(t, "a!", f.Output(snap))
	assert.Contains(t, log.take(), "task /run f/step 1/task flow/task flow~upper")
}

func TestHooksOfARunAreInsideThoseOfTheGraph(t *testing.T) {
	t.Parallel()
	named := func(name string, calls *[]string) *graph.Hooks {
		return &graph.Hooks{Run: func(ctx context.Context, _ graph.Running) (context.Context, func(graph.Outcome)) {
			*calls = append(*calls, name+" begins")
			return ctx, func(graph.Outcome) { *calls = append(*calls, name+" ends") }
		}}
	}
	for _, tt := range []struct {
		ofGraph, ofRun bool
		want           []string
	}{
		{true, true, []string{"graph begins", "run begins", "run ends", "graph ends"}},
		{true, false, []string{"graph begins", "graph ends"}},
		{false, true, []string{"run begins", "run ends"}},
		{false, false, nil},
	} {
		var calls []string
		text := state.LastWins[string]("text")
		b := graph.New("g", text)
		b.Node("n", func(context.Context, state.View) (state.Update, error) { return nil, nil })
		b.Edge(graph.Start, "n")
		o := graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}
		var run graph.RunOptions
		if tt.ofGraph {
			o.Hooks = named("graph", &calls)
		}
		if tt.ofRun {
			run.Hooks = named("run", &calls)
		}
		_, err := compile(t, b, o).Thread("t").With(run).Invoke(t.Context(), text.Put("in"))
		require.NoError(t, err)
		assert.Equal(t, tt.want, calls)
	}
}

// TestHookHeldEndsARunBeforeItStores proves that the hook is called for a run with a thread and not for its subgraph,
// that its error ends the run, which stores nothing, and that the thread is free afterwards.
func TestHookHeldEndsARunBeforeItStores(t *testing.T) {
	t.Parallel()
	text := state.LastWins[string]("text")
	inner := graph.New("inner", text)
	inner.Node("work", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	inner.Edge(graph.Start, "work")
	inner.Edge("work", graph.End)
	b := graph.New("outer", text)
	b.Subgraph("call", compile(t, inner, graph.Options{}))
	b.Edge(graph.Start, "call")
	b.Edge("call", graph.End)
	refused := errors.New("the form is old")
	var calls []string
	held := func(name string, err *error) *graph.Hooks {
		return &graph.Hooks{Held: func(_ context.Context, r graph.Running) error {
			calls = append(calls, name+" "+r.Graph+" "+r.Thread)
			return *err
		}}
	}
	var first, second error
	g := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), Hooks: held("graph", &first)})
	th := g.Thread("t").With(graph.RunOptions{Hooks: held("run", &second)})

	second = refused
	_, err := th.Invoke(t.Context(), text.Put("a"))
	require.ErrorIs(t, err, refused)
	_, err = th.Snapshot(t.Context())
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
	assert.Equal(t, []string{"graph outer t", "run outer t"}, calls)

	calls, first = nil, refused
	_, err = th.Invoke(t.Context(), text.Put("a"))
	require.ErrorIs(t, err, refused)
	assert.Equal(t, []string{"graph outer t"}, calls, "the hook of the run was called after an error")

	calls, first, second = nil, nil, nil
	snap, err := th.Invoke(t.Context(), text.Put("a"))
	require.NoError(t, err)
	assert.Equal(t, "a", text.Get(snap))
	assert.Equal(t, []string{"graph outer t", "run outer t"}, calls)

	calls = nil
	_, err = g.Invoke(t.Context(), text.Put("a"))
	require.NoError(t, err)
	assert.Empty(t, calls, "a run without a thread called the hook")
}
