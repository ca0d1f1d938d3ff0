package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// lone makes a thread of a graph with one node.
func lone(t testing.TB, s checkpoint.Store, fn graph.NodeFunc) *graph.Thread {
	return build(t, s, func(b *graph.Builder) {
		b.Node("n", fn)
		b.Edge(graph.Start, "n")
	}).Thread("t")
}

type emptyAnswer struct{}

// TestFalsyAnswers: an answer that is false, zero, empty or null is an answer.
func TestFalsyAnswers(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		falsy(t, s, "bool", false)
		falsy(t, s, "int", 0)
		falsy(t, s, "string", "")
		falsy(t, s, "null", (*int)(nil))
		falsy(t, s, "struct", emptyAnswer{})
		falsy(t, s, "any", any(nil))
		falsy(t, s, "float", 0.0)
	})
}

func falsy[A comparable](t *testing.T, s checkpoint.Store, name string, zero A) {
	t.Helper()
	q := graph.NewInterrupt[A, A](name)
	g := build(t, s, func(b *graph.Builder) {
		b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
			a, err := q.Wait(ctx, zero)
			if err != nil {
				return nil, err
			}
			return state.Update{trail.Put(fmt.Sprint(a == zero))}, nil
		})
		b.Edge(graph.Start, "n")
	})
	th := g.Thread(name)
	open := pending(t, q, invoke(t, th, note.Put("go")))
	if len(open) != 1 || open[0].Prompt != zero {
		t.Fatalf("%s: got questions %+v", name, open)
	}
	require.Equal(t, []string{"true"}, trail.Get(done(t, th, q.Answer(open[0].ID, zero))))
}

// TestAnswerErrors: an answer to what is not asked is refused, and changes
// nothing.
func TestAnswerErrors(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		other, odd := graph.NewInterrupt[string, string]("other"), graph.NewInterrupt[string, int]("ask")
		bad := graph.NewInterrupt[string, func()]("ask")
		th := processGraph(t, "p2", s, func(string) {}).Thread("t")
		_, err := th.Invoke(t.Context(), ask.Answer("x", "y"))
		require.ErrorIs(t, err, graph.ErrNoInput)
		_, ids, err := questions(invoke(t, th, note.Put("go")))
		require.NoError(t, err)
		for name, w := range map[string]state.Write{
			"unknown id":      ask.Answer("nobody", "x"),
			"no id":           ask.Answer("", "x"),
			"other interrupt": other.Answer(ids["a"], "x"),
		} {
			if _, err = th.Invoke(t.Context(), w); !errors.Is(err, graph.ErrNoQuestion) {
				t.Fatalf("%s: got error %v", name, err)
			}
			// One wrong answer spoils the right ones beside it.
			if _, err = th.Invoke(t.Context(), ask.Answer(ids["a"], "lost"), w); !errors.Is(err, graph.ErrNoQuestion) {
				t.Fatalf("%s: got error %v", name, err)
			}
		}
		_, err = th.Invoke(t.Context(), bad.Answer(ids["a"], nil))
		require.ErrorContains(t, err, `interrupt "ask"`)
		require.ErrorContains(t, err, "the answer")
		if open, _, _ := questions(snapshot(t, th)); !slices.Equal(open, []string{"a", "b", "d"}) {
			t.Fatalf("got questions %q", open)
		}
		if open, _, err := answered(t.Context(), th, "a"); err != nil || !slices.Equal(open, []string{"b", "d"}) {
			t.Fatalf("got %q, %v", open, err)
		}
		_, err = th.Invoke(t.Context(), ask.Answer(ids["a"], "again"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		_, err = th.Invoke(t.Context(), odd.Answer(ids["b"], 7), ask.Answer(ids["d"], "yes d"))
		require.ErrorContains(t, err, `node "b"`)
		require.ErrorContains(t, err, `interrupt "ask"`)
		require.ErrorContains(t, err, "the answer")
		done(t, th, ask.Answer(ids["b"], "yes b"))
		require.Equal(t, []string{"a=yes a", "b=yes b", "c", "d=yes d", "end"}, trail.Get(snapshot(t, th)))
		_, err = th.Invoke(t.Context(), ask.Answer(ids["b"], "late"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		// A question of an earlier checkpoint is asked anew by a run from it.
		first := history(t, th, graph.HistoryQuery{})[0].ID
		_, err = th.At(first).Invoke(t.Context(), ask.Answer(ids["b"], "late"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
	})
}

// TestDuplicateKeys: a node that asks one question twice is told so.
func TestDuplicateKeys(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for name, waits := range map[string][]string{
			"plain":  {"", ""},
			"keyed":  {"k", "k"},
			"theirs": {"k", "", "k"},
		} {
			th := build(t, s, func(b *graph.Builder) {
				b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
					var errs []error
					for _, key := range waits {
						_, err := ask.WaitKey(ctx, key, "q?")
						errs = append(errs, err)
					}
					if !errors.Is(errs[len(errs)-1], graph.ErrDuplicateKey) {
						return nil, fmt.Errorf("got %v", errs)
					}
					return nil, errs[len(errs)-1]
				})
				b.Edge(graph.Start, "n")
			}).Thread(name)
			snap, err := th.Invoke(t.Context(), note.Put("go"))
			// Its first question is open and known, the mistake shows once it is
			// answered.
			if err == nil && len(snap.Pauses) != len(waits)-1 {
				t.Fatalf("%s: got pauses %+v", name, snap.Pauses)
			}
			var answers []state.Write
			for _, p := range snap.Pauses {
				answers = append(answers, ask.Answer(p.ID, "a"))
			}
			_, err = th.Invoke(t.Context(), answers...)
			require.ErrorIs(t, err, graph.ErrDuplicateKey)
			require.ErrorContains(t, err, `node "n"`)
			require.ErrorContains(t, err, `interrupt "ask"`)
		}
	})
}

// TestSwallowedPause: a node that makes something else of the pause's error
// pauses all the same, whatever stands around it.
func TestSwallowedPause(t *testing.T) {
	wraps := map[string]func(graph.NodeFunc) graph.NodeFunc{
		"bare": func(fn graph.NodeFunc) graph.NodeFunc { return fn },
		"retry": func(fn graph.NodeFunc) graph.NodeFunc {
			return node.Retry(node.RetryPolicy{Attempts: 3, Initial: -1}, fn)
		},
		"recover": func(fn graph.NodeFunc) graph.NodeFunc {
			return node.Recover(func(context.Context, state.View, error) (state.Update, error) {
				return state.Update{trail.Put("handled")}, nil
			}, fn)
		},
		"cache": func(fn graph.NodeFunc) graph.NodeFunc {
			return node.Cache(func(state.View) string { return "" }, node.CachePolicy{}, fn)
		},
		"limit":   func(fn graph.NodeFunc) graph.NodeFunc { return node.Limit(1, fn) },
		"timeout": func(fn graph.NodeFunc) graph.NodeFunc { return node.Timeout(1<<40, fn) },
	}
	swallows := map[string]func(error) error{
		"nil":     func(error) error { return nil },
		"other":   func(error) error { return errBroken },
		"wrapped": func(err error) error { return fmt.Errorf("wrapped: %w", err) },
		"panic":   func(err error) error { panic(err) },
	}
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for w, wrap := range wraps {
			for h, swallow := range swallows {
				var runs counter
				g := build(t, s, func(b *graph.Builder) {
					b.Node("n", wrap(func(ctx context.Context, _ state.View) (state.Update, error) {
						runs.add("n")
						a, err := ask.Wait(ctx, "n?")
						if err != nil {
							if !graph.IsPause(err) {
								return nil, errors.New("not a pause")
							}
							return state.Update{trail.Put("swallowed")}, swallow(err)
						}
						return state.Update{trail.Put("n=" + a)}, nil
					}))
					b.Edge(graph.Start, "n")
				})
				th := g.Thread(w + h)
				snap, err := th.Invoke(t.Context(), note.Put("go"))
				if err != nil || len(snap.Pauses) != 1 || trail.Len(snap) != 0 {
					t.Fatalf("%s, %s: got %v and %+v", w, h, err, snap)
				}
				require.Equal(t, []string{"n=ok"}, trail.Get(done(t, th, ask.Answer(snap.Pauses[0].ID, "ok"))))
				runs.want(t, "n", 2)
			}
		}
	})
}

// TestWaitOutside: Wait needs a node, and a store.
func TestWaitOutside(t *testing.T) {
	t.Parallel()
	_, err := ask.Wait(t.Context(), "?")
	require.ErrorIs(t, err, graph.ErrNotInNode)
	_, err = graph.Once(t.Context(), "k", func(context.Context) (int, error) { return 1, nil })
	require.ErrorIs(t, err, graph.ErrNotInNode)
	if _, ok := graph.FromContext(t.Context()); ok || graph.IdempotencyKey(t.Context()) != "" || graph.RemainingSteps(t.Context()) != 0 {
		t.Fatal("there is no node")
	}
	graph.Emit(t.Context(), 1)
	node.Heartbeat(t.Context())
	b := graph.New("g", trail)
	b.Node("n", asking("n", func(string) {}))
	b.Edge(graph.Start, "n")
	g := compile(t, b, graph.Options{})
	_, err = g.Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrNoStore)
	require.ErrorContains(t, err, `node "n"`)
	_, err = g.Thread("t").Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrNoStore)
	_, err = compile(t, b, graph.Options{Checkpoints: stores["memory"](t)}).Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrNoStore)
}

// TestPromptErrors: a prompt that can not be stored is the node's error; one
// that can not be read as what is wanted is Pending's.
func TestPromptErrors(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		bad, odd := graph.NewInterrupt[any, string]("bad"), graph.NewInterrupt[int, string]("bad")
		var prompt any = func() {}
		th := lone(t, s, func(ctx context.Context, _ state.View) (state.Update, error) {
			a, err := bad.Wait(ctx, prompt)
			return state.Update{trail.Put(a)}, err
		})
		_, err := th.Invoke(t.Context(), note.Put("go"))
		require.ErrorContains(t, err, `interrupt "bad"`)
		require.ErrorContains(t, err, "the prompt")
		prompt = "text"
		snap := invoke(t, th)
		_, err = odd.Open(snap)
		require.ErrorContains(t, err, `interrupt "bad"`)
		require.ErrorContains(t, err, snap.Pauses[0].ID)
		if bad.Name() != "bad" || len(pending(t, ask, snap)) != 0 {
			t.Fatal("a question of another interrupt")
		}
		require.Equal(t, []string{"a"}, trail.Get(done(t, th, odd.Answer(snap.Pauses[0].ID, "a"))))
	})
}

// TestNewTurnDropsQuestions: input begins a new turn; what was asked is void.
func TestNewTurnDropsQuestions(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := processGraph(t, "p2", s, func(string) {}).Thread("t")
		_, old, err := questions(invoke(t, th, note.Put("one")))
		require.NoError(t, err)
		_, ids, err := questions(invoke(t, th, note.Put("two")))
		require.NoError(t, err)
		if old["a"] == ids["a"] {
			t.Fatal("two questions have one id")
		}
		_, err = th.Invoke(t.Context(), ask.Answer(old["a"], "x"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		// Asking once more leaves the id as it is.
		if _, again, _ := questions(invoke(t, th)); again["a"] != ids["a"] {
			t.Fatal("the id of a question changed")
		}
		_, snap, err := answered(t.Context(), th, "a", "b", "d")
		if err != nil || !snap.Done() || note.Get(snap) != "two" {
			t.Fatalf("got %v, %+v", err, snap)
		}
	})
}
