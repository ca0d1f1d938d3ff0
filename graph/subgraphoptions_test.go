package graph_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The private channels of the translator.
var (
	source = state.Last[string]("source")
	target = state.Append[string]("target")
	rounds = state.Sum[int]("rounds")
)

// translator returns a graph that asks for the translation of source and counts its calls
// in rounds. It shares only the channel trail.
func translator(t testing.TB) *graph.Graph {
	b := graph.New("translator", trail, source, target, rounds)
	b.Node("count", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{rounds.Put(1), trail.Put("count")}, nil
	})
	b.Node("translate", func(ctx context.Context, v state.View) (state.Update, error) {
		text, err := ask.Wait(ctx, source.Get(v))
		return state.Update{target.Put(text), trail.Put("translate")}, err
	})
	chain(b, "count", "translate")
	return compile(t, b, graph.Options{})
}

// mapping returns options that copy note to source, and write target and rounds to note.
func mapping(calls *counter) graph.SubgraphOptions {
	return graph.SubgraphOptions{
		Input: func(v state.View) (state.Update, error) {
			calls.add("input")
			return state.Update{source.Put(note.Get(v))}, nil
		},
		Output: func(_, v state.View) (state.Update, error) {
			calls.add("output")
			return state.Update{note.Put(fmt.Sprint(strings.Join(target.Get(v), " "), " after ", rounds.Get(v)))}, nil
		},
	}
}

// mapped returns a graph that runs the translator as a subgraph with these options.
func mapped(t testing.TB, s checkpoint.Store, o graph.SubgraphOptions) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.Node("begin", mark("begin"))
		b.SubgraphWith("sub", translator(t), o)
		b.Node("end", func(_ context.Context, v state.View) (state.Update, error) {
			return state.Update{trail.Put("end: " + note.Get(v))}, nil
		})
		chain(b, "begin", "sub", "end")
	})
}

// TestSubgraphInputRunsOncePerCall proves that Input runs once per call even if the
// subgraph pauses, that the parent does not see private channels, and that they are empty
// at the start of each call.
func TestSubgraphInputRunsOncePerCall(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			var calls counter
			g := mapped(t, s, mapping(&calls))
			th := in(g.Thread(mode.String()), mode)
			for i := 1; i <= 2; i++ {
				q := pending(t, ask, invoke(t, th, note.Put("Hallo")))[0]
				require.Equal(t, "Hallo", q.Prompt)
				require.Equal(t, "Hallo", note.Get(snapshot(t, th)), "Output has not run")
				invoke(t, th) // ask the question again
				snap := done(t, th, ask.Answer(q.ID, "hello"))
				require.Equal(t, "hello after 1", note.Get(snap))
				calls.want(t, "input", i)
				calls.want(t, "output", i)
			}
			want := []string{"begin", "count", "translate", "end: hello after 1"}
			wantTrail(t, snapshot(t, th), append(want, want...)...)
		}
	})
}

// TestSubgraphInputBeginsEveryPersistentCall proves that Input runs in every call of a
// persistent subgraph, and that its other private channels keep their values.
func TestSubgraphInputBeginsEveryPersistentCall(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			var calls counter
			o := mapping(&calls)
			o.Persist = "translator"
			th := in(mapped(t, s, o).Thread(mode.String()), mode)
			for i, text := range []string{"eins", "zwei", "drei"} {
				q := pending(t, ask, invoke(t, th, note.Put(text)))[0]
				require.Equal(t, text, q.Prompt)
				snap := done(t, th, ask.Answer(q.ID, fmt.Sprint(i+1)))
				require.Equal(t, []string{"1 after 1", "1 2 after 2", "1 2 3 after 3"}[i], note.Get(snap))
				calls.want(t, "input", i+1)
			}
		}
	})
}

// TestSubgraphMappingNeedsNoStore proves that Input and Output work without a store.
func TestSubgraphMappingNeedsNoStore(t *testing.T) {
	t.Parallel()
	b := graph.New("upper", source, target)
	b.Node("upper", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{target.Put(strings.ToUpper(source.Get(v)))}, nil
	})
	chain(b, "upper")
	g := build(t, nil, func(outer *graph.Builder) {
		outer.SubgraphWith("sub", compile(t, b, graph.Options{}), graph.SubgraphOptions{
			Input:  func(v state.View) (state.Update, error) { return state.Update{source.Put(note.Get(v))}, nil },
			Output: func(_, v state.View) (state.Update, error) { return state.Update{trail.Put(target.Get(v)...)}, nil },
		})
		chain(outer, "sub")
	})
	runBoth(t, g, func(err error) { require.NoError(t, err) }, note.Put("loud"))
	snap, err := g.Invoke(t.Context(), note.Put("loud"))
	require.NoError(t, err)
	wantTrail(t, snap, "LOUD")
}

// TestSubgraphInputSeesOnlySentValues proves that Input of a sent task sees only the sent
// values.
func TestSubgraphInputSeesOnlySentValues(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		b := graph.New("sub", source, trail)
		b.Node("say", func(_ context.Context, v state.View) (state.Update, error) {
			return state.Update{trail.Put(source.Get(v))}, nil
		})
		chain(b, "say")
		g := build(t, s, func(outer *graph.Builder) {
			outer.Node("fan", func(context.Context, state.View) (state.Update, error) {
				return state.Update{graph.Send("sub", note.Put("one")), graph.Send("sub", item.Put(2))}, nil
			})
			outer.Destinations("fan", "sub")
			outer.SubgraphWith("sub", compile(t, b, graph.Options{}), graph.SubgraphOptions{
				Input: func(v state.View) (state.Update, error) {
					return state.Update{source.Put(fmt.Sprint(note.Get(v), item.Get(v)))}, nil
				},
			})
			chain(outer, "fan")
		})
		wantTrail(t, done(t, g.Thread("t"), note.Put("hidden"), item.Put(9)), "one0", "2")
	})
}

// TestSubgraphOutputMayRoute proves that Output may return Goto and Send, like a node.
func TestSubgraphOutputMayRoute(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			b.SubgraphWith("sub", called(t), graph.SubgraphOptions{
				Output: func(_, v state.View) (state.Update, error) {
					return state.Update{graph.Goto("right"), graph.Send("worker", note.Put("sent")), total.Put(turns.Get(v))}, nil
				},
			})
			b.Node("right", mark("right"))
			b.Node("worker", mark("worker"))
			b.Destinations("sub", "right", "worker")
			chain(b, "sub")
		})
		snap := done(t, g.Thread("t"), note.Put("go"))
		wantTrail(t, snap, "call0", "right", "worker")
		require.Equal(t, 1, total.Get(snap))
	})
}

// TestSubgraphMappingErrorsNameNode proves that an error of Input or Output names the node
// and the function, and that the thread resumes once the function is corrected.
func TestSubgraphMappingErrorsNameNode(t *testing.T) {
	t.Parallel()
	writes := func(w ...state.Write) func(state.View) (state.Update, error) {
		return func(state.View) (state.Update, error) { return w, nil }
	}
	var calls counter
	good := mapping(&calls)
	for name, c := range map[string]struct {
		o    graph.SubgraphOptions
		is   error
		text string
	}{
		"input fails":            {graph.SubgraphOptions{Input: func(state.View) (state.Update, error) { return nil, errBroken }}, errBroken, "input of the subgraph: broken"},
		"input panics":           {graph.SubgraphOptions{Input: func(state.View) (state.Update, error) { panic(errBroken) }}, errBroken, "input of the subgraph: panic"},
		"input shared channel":   {graph.SubgraphOptions{Input: writes(trail.Put("x"))}, graph.ErrSignal, "trail"},
		"input parent's channel": {graph.SubgraphOptions{Input: writes(note.Put("x"))}, state.ErrUnknownChannel, "input of the subgraph"},
		"input goto":             {graph.SubgraphOptions{Input: writes(graph.Goto("count"))}, graph.ErrSignal, "goto count"},
		"input twice":            {graph.SubgraphOptions{Input: writes(source.Put("x"), source.Put("y"))}, nil, ""},
		"output fails":           {graph.SubgraphOptions{Output: func(_, _ state.View) (state.Update, error) { return nil, errBroken }}, errBroken, "output of the subgraph: broken"},
		"output panics":          {graph.SubgraphOptions{Output: func(_, _ state.View) (state.Update, error) { panic(errBroken) }}, errBroken, "output of the subgraph: panic"},
		"output own channel":     {graph.SubgraphOptions{Output: func(_, v state.View) (state.Update, error) { return writes(source.Put("x"))(v) }}, state.ErrUnknownChannel, "source"},
		"output undeclared":      {graph.SubgraphOptions{Output: func(_, v state.View) (state.Update, error) { return writes(graph.Goto("begin"))(v) }}, graph.ErrRoute, "begin"},
	} {
		for _, mode := range modes {
			t.Run(name+" "+mode.String(), func(t *testing.T) {
				t.Parallel()
				s := stores["memory"](t)
				th := in(mapped(t, s, c.o).Thread("t"), mode)
				snap, err := th.Invoke(t.Context(), note.Put("go"))
				if err == nil {
					q := pending(t, ask, snap)
					_, err = th.Invoke(t.Context(), ask.Answer(q[0].ID, "gone"))
				}
				if c.is == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, c.is)
				require.ErrorContains(t, err, `node "sub"`)
				require.ErrorContains(t, err, c.text)
				th = in(mapped(t, s, good).Thread("t"), mode)
				snap = invoke(t, th)
				if q := pending(t, ask, snap); len(q) > 0 {
					snap = done(t, th, ask.Answer(q[0].ID, "gone"))
				}
				require.Equal(t, "gone after 1", note.Get(snap))
			})
		}
	}
}

func init() {
	// translate ANSWER answers the open question of thread "t". It prints how often Input
	// ran, and the final value of note.
	children["translate"] = func(c *child) error {
		var calls counter
		sub := graph.New("translator", trail, source, target, rounds)
		sub.Node("count", func(context.Context, state.View) (state.Update, error) { return nil, fmt.Errorf("count runs again") })
		sub.Node("translate", func(ctx context.Context, v state.View) (state.Update, error) {
			text, err := ask.Wait(ctx, source.Get(v))
			return state.Update{target.Put(source.Get(v) + "=" + text), trail.Put("translate")}, err
		})
		chain(sub, "count", "translate")
		inner, err := sub.Compile(graph.Options{})
		if err != nil {
			return err
		}
		b := graph.New("test", trail, total, note, item)
		b.Node("begin", mark("begin"))
		b.SubgraphWith("sub", inner, mapping(&calls))
		b.Node("end", mark("end"))
		chain(b, "begin", "sub", "end")
		g, err := b.Compile(graph.Options{Checkpoints: c.store})
		if err != nil {
			return err
		}
		snap, err := g.Thread("t").Snapshot(c.ctx)
		if err != nil {
			return err
		}
		open, err := ask.Open(snap)
		if err != nil {
			return err
		}
		snap, err = g.Thread("t").Invoke(c.ctx, ask.Answer(open[0].ID, c.args[0]))
		if err != nil {
			return err
		}
		c.say(fmt.Sprint(calls.get("input"), " ", note.Get(snap), " ", trail.Get(snap)))
		return nil
	}
}

// TestSubgraphInputResumesInAnotherProcess proves that Input does not run again in another
// process, and that its writes are part of the stored state of the subgraph.
func TestSubgraphInputResumesInAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			var calls counter
			file := filepath.Join(t.TempDir(), "weft.db")
			g := mapped(t, openFile(t, file), mapping(&calls))
			invoke(t, in(g.Thread("t"), mode), note.Put("Hallo"))
			p := spawn(t, "translate", file, "hello")
			require.Equal(t, "0 Hallo=hello after 1 [begin count translate end]", p.line(t))
			p.wait(t)
		})
	}
}
