package graph_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A journal collects lines from several goroutines.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, strings.TrimSpace(fmt.Sprintln(line...)))
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.lines
	j.lines = nil
	return out
}

// at returns the path and the task of a node.
func at(ctx context.Context) string {
	r, ok := graph.FromContext(ctx)
	if !ok {
		return "nowhere"
	}
	return strings.TrimPrefix(r.Path+"/"+r.Task, "/")
}

// tracing returns middleware that adds a line to j when a node begins and when it ends.
func tracing(j *journal, name string) graph.Middleware {
	return func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			j.add(name, ">", at(ctx))
			defer j.add(name, "<", at(ctx))
			return next(ctx, s)
		}
	}
}

// runBoth runs a graph by Invoke and by Stream, without a thread.
func runBoth(t *testing.T, g *graph.Graph, check func(err error), writes ...state.Write) {
	t.Helper()
	_, err := g.Invoke(t.Context(), writes...)
	check(err)
	err = nil
	for _, err = range g.Stream(t.Context(), writes...) {
	}
	check(err)
}

// wrapIn returns a graph of one node that runs another graph.
func wrapIn(t *testing.T, name string, sub *graph.Graph, o graph.SubgraphOptions) *graph.Graph {
	b := graph.New(name, trail, total, note, item)
	b.SubgraphWith(name, sub, o)
	chain(b, name)
	return compile(t, b, graph.Options{})
}

// TestMiddlewareWrapsEveryNode proves that middleware wraps every node, including nodes
// of nested subgraphs, and in which order several middlewares run.
func TestMiddlewareWrapsEveryNode(t *testing.T) {
	t.Parallel()
	var j journal
	b := graph.New("leaf", trail)
	b.Node("leaf", mark("leaf"))
	chain(b, "leaf")
	leaf := compile(t, b, graph.Options{Middleware: []graph.Middleware{tracing(&j, "of the leaf")}})
	inner := wrapIn(t, "inner", leaf, graph.SubgraphOptions{Middleware: []graph.Middleware{tracing(&j, "sub1"), tracing(&j, "sub2")}})

	b = graph.New("outer", trail)
	b.Node("first", mark("first"))
	b.Subgraph("sub", inner)
	chain(b, "first", "sub")
	g := compile(t, b, graph.Options{Middleware: []graph.Middleware{tracing(&j, "one"), tracing(&j, "two")}})

	want := []string{
		"one > first", "two > first", "two < first", "one < first",
		"one > sub", "two > sub",
		"one > sub/inner", "two > sub/inner", "sub1 > sub/inner", "sub2 > sub/inner",
		"one > sub/inner/leaf", "two > sub/inner/leaf", "two < sub/inner/leaf", "one < sub/inner/leaf",
		"sub2 < sub/inner", "sub1 < sub/inner", "two < sub/inner", "one < sub/inner",
		"two < sub", "one < sub",
	}
	runBoth(t, g, func(err error) {
		require.NoError(t, err)
		require.Equal(t, want, j.take())
	})
	_, err := leaf.Invoke(t.Context(), note.Put("go"))
	require.Error(t, err, "note is not a channel of the leaf")
	_, err = leaf.Invoke(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"of the leaf > leaf", "of the leaf < leaf"}, j.take(), "the leaf by itself")
}

// TestMiddlewareOfSharedSubgraphDoesNotMix proves that two graphs with the same subgraph
// each run only their own middleware in it, also if two nodes run the subgraph.
func TestMiddlewareOfSharedSubgraphDoesNotMix(t *testing.T) {
	t.Parallel()
	b := graph.New("leaf", trail)
	b.Node("leaf", mark("leaf"))
	chain(b, "leaf")
	leaf := compile(t, b, graph.Options{})
	var j journal
	var graphs []*graph.Graph
	for _, name := range []string{"a", "b"} {
		b := graph.New(name, trail)
		b.Subgraph("one", leaf)
		b.Subgraph("two", leaf)
		chain(b, "one", "two")
		graphs = append(graphs, compile(t, b, graph.Options{Middleware: []graph.Middleware{tracing(&j, name)}}))
	}
	for i, name := range []string{"a", "b"} {
		_, err := graphs[i].Invoke(t.Context())
		require.NoError(t, err)
		var want []string
		for _, line := range []string{"> one", "> one/leaf", "< one/leaf", "< one", "> two", "> two/leaf", "< two/leaf", "< two"} {
			want = append(want, name+" "+line)
		}
		require.Equal(t, want, j.take())
	}
}

// TestMiddlewareWrapsPrebuiltAgents proves that middleware of a graph wraps the model and tool
// nodes of an agent that is a subgraph.
func TestMiddlewareWrapsPrebuiltAgents(t *testing.T) {
	t.Parallel()
	var j journal
	weather := tools.New("weather", "Tells the weather.", func(context.Context, struct{}) (string, error) { return "sunny", nil })
	set, err := tools.NewSet(weather)
	require.NoError(t, err)
	build := func() *graph.Graph {
		a, err := agent.New("helper", llmtest.NewScript(llmtest.Call("weather", `{}`), llmtest.Say("Take a hat.")), set, agent.Options{})
		require.NoError(t, err)
		b := graph.New("outer", agent.Messages)
		b.Subgraph("agent", a)
		chain(b, "agent")
		return compile(t, b, graph.Options{Middleware: []graph.Middleware{tracing(&j, "mw")}})
	}
	for _, stream := range []bool{false, true} {
		g := build()
		if stream {
			for _, err := range g.Stream(t.Context(), agent.Messages.Put(llm.User("go"))) {
				require.NoError(t, err)
			}
		} else {
			_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
		}
		lines := j.take()
		require.Equal(t, "mw > agent", lines[0])
		require.Equal(t, "mw < agent", lines[len(lines)-1])
		model, tool := 0, 0
		for _, l := range lines {
			model += strings.Count(l, "> agent/"+agent.ModelNode)
			tool += strings.Count(l, "> agent/"+agent.ToolsNode)
		}
		require.Equal(t, []int{2, 1}, []int{model, tool}, "%q", lines)
	}
}

type requestKey struct{}

// TestMiddlewareRunsOncePerTask proves that middleware is called once for each run of a task,
// and not for each attempt of an inner retry. Nested nodes see the values of its context.
func TestMiddlewareRunsOncePerTask(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var j journal
		fails := 2
		b := graph.New("leaf", trail)
		b.Node("leaf", node.Retry(node.RetryPolicy{Attempts: 5, Initial: -1}, func(ctx context.Context, _ state.View) (state.Update, error) {
			at, _ := graph.FromContext(ctx)
			j.add("attempt", at.Attempt, ctx.Value(requestKey{}))
			if fails--; fails >= 0 {
				return nil, errBroken
			}
			answer, err := ask.Wait(ctx, "?")
			return state.Update{trail.Put(answer)}, err
		}))
		chain(b, "leaf")
		leaf := compile(t, b, graph.Options{})
		b = graph.New("outer", trail, note)
		b.Subgraph("sub", leaf)
		chain(b, "sub")
		request := func(next graph.NodeFunc) graph.NodeFunc {
			return func(ctx context.Context, s state.View) (state.Update, error) {
				outer, _ := ctx.Value(requestKey{}).(string)
				return next(context.WithValue(ctx, requestKey{}, outer+"+"+at(ctx)), s)
			}
		}
		g := compile(t, b, graph.Options{Checkpoints: s, Middleware: []graph.Middleware{tracing(&j, "mw"), request}})
		q := pending(t, ask, invoke(t, g.Thread("t"), note.Put("go")))[0].ID
		carried := "+sub+sub/leaf"
		require.Equal(t, []string{
			"mw > sub", "mw > sub/leaf", "attempt 1 " + carried, "attempt 2 " + carried, "attempt 3 " + carried, "mw < sub/leaf", "mw < sub",
		}, j.take())
		done(t, g.Thread("t"), ask.Answer(q, "yes"))
		require.Equal(t, []string{"mw > sub", "mw > sub/leaf", "attempt 1 " + carried, "mw < sub/leaf", "mw < sub"}, j.take())
	})
}

// TestMiddlewareChangesResults proves that middleware can replace the update and the
// error of a node.
func TestMiddlewareChangesResults(t *testing.T) {
	t.Parallel()
	around := func(m graph.Middleware) *graph.Graph {
		b := graph.New("g", trail)
		b.Node("n", mark("n"))
		chain(b, "n")
		return compile(t, b, graph.Options{Middleware: []graph.Middleware{m}})
	}
	g := around(func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			u, err := next(ctx, s)
			return append(u, trail.Put("more")), err
		}
	})
	snap, err := g.Invoke(t.Context())
	require.NoError(t, err)
	wantTrail(t, snap, "n", "more")
	runBoth(t, around(func(graph.NodeFunc) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) { return nil, errBroken }
	}), func(err error) {
		var ne *graph.NodeError
		require.ErrorAs(t, err, &ne)
		require.Equal(t, "n", ne.Node)
		require.ErrorIs(t, err, errBroken)
	})
	runBoth(t, around(func(graph.NodeFunc) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) { panic("boom") }
	}), func(err error) {
		var pe *graph.PanicError
		require.ErrorAs(t, err, &pe)
	})
}

// TestMiddlewareIsChecked proves that Compile reports middleware that is nil or returns
// nil, and that a context which is not derived from the node's context is an error.
func TestMiddlewareIsChecked(t *testing.T) {
	t.Parallel()
	var j journal
	none := func(graph.NodeFunc) graph.NodeFunc { return nil }
	leaf := func() *graph.Graph {
		b := graph.New("leaf", trail)
		b.Node("leaf", mark("leaf"))
		chain(b, "leaf")
		return compile(t, b, graph.Options{})
	}
	for want, o := range map[string]struct {
		of  []graph.Middleware
		sub []graph.Middleware
	}{
		`graph "g": Middleware 2 is nil`:                            {of: []graph.Middleware{tracing(&j, "one"), nil}},
		`graph "g": node "leaf": Middleware 2 returned nil`:         {of: []graph.Middleware{tracing(&j, "one"), none}},
		`graph "g": node "sub": Middleware 1 returned nil`:          {of: []graph.Middleware{none, tracing(&j, "two")}},
		`graph "g": node "sub": Middleware 1 is nil`:                {sub: []graph.Middleware{nil}},
		`graph "g": node "sub": Middleware 2 returned nil; it must`: {sub: []graph.Middleware{tracing(&j, "one"), none}},
	} {
		b := graph.New("g", trail)
		b.SubgraphWith("sub", leaf(), graph.SubgraphOptions{Middleware: o.sub})
		chain(b, "sub")
		_, err := b.Compile(graph.Options{Middleware: o.of})
		require.ErrorContains(t, err, want)
		var be *graph.BuildError
		require.ErrorAs(t, err, &be)
	}
	g := wrapIn(t, "sub", leaf(), graph.SubgraphOptions{Middleware: []graph.Middleware{func(next graph.NodeFunc) graph.NodeFunc {
		return func(_ context.Context, s state.View) (state.Update, error) { return next(t.Context(), s) }
	}}})
	runBoth(t, g, func(err error) { require.ErrorContains(t, err, "must derive the context") })
}

func retrying(p node.RetryPolicy) graph.Middleware {
	return func(next graph.NodeFunc) graph.NodeFunc { return node.Retry(p, next) }
}

// TestRetryResumesSubgraph proves that a retry resumes a subgraph where it failed, in
// every durability mode, also if the failure comes after the end of the subgraph.
func TestRetryResumesSubgraph(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			for _, place := range []string{"node", "output", "middleware"} {
				var ran counter
				fail := func(at string) error {
					if at == place && ran.add("failures") <= 2 {
						return errBroken
					}
					return nil
				}
				b := graph.New("sub", trail, turns)
				b.Node("work", func(context.Context, state.View) (state.Update, error) {
					ran.add("work")
					return state.Update{trail.Put("work"), turns.Put(1)}, nil
				})
				b.Node("fragile", func(ctx context.Context, v state.View) (state.Update, error) {
					r, _ := graph.FromContext(ctx)
					return state.Update{trail.Put(fmt.Sprint("fragile", turns.Get(v), "attempt", r.Attempt))}, fail("node")
				})
				chain(b, "work", "fragile")
				o := graph.SubgraphOptions{
					Output: func(_, _ state.View) (state.Update, error) { return state.Update{trail.Put("output")}, fail("output") },
					Middleware: []graph.Middleware{retrying(node.RetryPolicy{Attempts: 3, Initial: -1}), func(next graph.NodeFunc) graph.NodeFunc {
						return func(ctx context.Context, s state.View) (state.Update, error) {
							u, err := next(ctx, s)
							if err == nil {
								err = fail("middleware")
							}
							return u, err
						}
					}},
				}
				g := build(t, s, func(outer *graph.Builder) {
					outer.SubgraphWith("sub", compile(t, b, graph.Options{}), o)
					chain(outer, "sub")
				})
				id := mode.String() + place
				snap, err := in(g.Thread(id), mode).Invoke(t.Context(), note.Put("go"))
				require.NoError(t, err, id)
				require.Equal(t, []string{"work", "fragile1attempt1", "output"}, trail.Get(snap), id)
				ran.want(t, "work", 1)
				ran.want(t, "failures", 3)
			}
		}
	})
}

// TestSubgraphOutputFailsAndTheNextRunResumes proves that after an error of Output, the
// next run does not run the nodes of the subgraph again.
func TestSubgraphOutputFailsAndTheNextRunResumes(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			var ran counter
			b := graph.New("sub", trail)
			b.Node("work", func(context.Context, state.View) (state.Update, error) {
				ran.add("work")
				return state.Update{trail.Put("work")}, nil
			})
			chain(b, "work")
			g := build(t, s, func(outer *graph.Builder) {
				outer.SubgraphWith("sub", compile(t, b, graph.Options{}), graph.SubgraphOptions{
					Output: func(_, _ state.View) (state.Update, error) {
						if ran.add("output") == 1 {
							return nil, errBroken
						}
						return nil, nil
					},
				})
				chain(outer, "sub")
			})
			th := in(g.Thread(mode.String()), mode)
			_, err := th.Invoke(t.Context(), note.Put("go"))
			require.ErrorIs(t, err, errBroken)
			require.ErrorContains(t, err, `node "sub": output of the subgraph`)
			wantTrail(t, done(t, th), "work")
			ran.want(t, "work", 1)
		}
	})
}

// TestTimeoutReachesSubgraph proves that the nodes of a subgraph see the deadline of its
// timeout, and that a retry resumes the subgraph with a new deadline.
func TestTimeoutReachesSubgraph(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var j journal
		start := time.Now()
		b := graph.New("sub", trail)
		for _, name := range []string{"a", "b", "c"} {
			b.Node(name, func(ctx context.Context, _ state.View) (state.Update, error) {
				deadline, ok := ctx.Deadline()
				j.add(name, deadline.Sub(start), ok)
				select {
				case <-time.After(40 * time.Second):
					return state.Update{trail.Put(name)}, nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			})
		}
		chain(b, "a", "b", "c")
		sub := compile(t, b, graph.Options{})
		timeout := func(next graph.NodeFunc) graph.NodeFunc { return node.Timeout(time.Minute, next) }
		newGraph := func(m ...graph.Middleware) *graph.Graph {
			return build(t, memcheckpoint.New(memcheckpoint.Options{}), func(b *graph.Builder) {
				b.SubgraphWith("sub", sub, graph.SubgraphOptions{Middleware: m})
				chain(b, "sub")
			})
		}
		_, err := newGraph(timeout).Thread("t").Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, graph.ErrTimeout)
		require.Equal(t, []string{"a 1m0s true", "b 1m0s true"}, j.take())

		start = time.Now()
		g := newGraph(retrying(node.RetryPolicy{Attempts: 3, Initial: -1}), timeout)
		snap, err := g.Thread("t").Invoke(t.Context(), note.Put("go"))
		require.NoError(t, err)
		wantTrail(t, snap, "a", "b", "c")
		require.Equal(t, []string{"a 1m0s true", "b 1m0s true", "b 2m0s true", "c 2m0s true", "c 3m0s true"}, j.take())
	})
}
