package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestP1: of three parallel nodes one fails once. The next run runs that one
// only.
func TestP1(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				var runs counter
				g := build(t, s, func(b *graph.Builder) {
					for _, n := range []string{"a", "b", "c"} {
						b.Edge(graph.Start, n)
						b.Node(n, func(context.Context, state.View) (state.Update, error) {
							if runs.add(n) == 1 && n == "b" {
								return nil, errBroken
							}
							return state.Update{trail.Put(n)}, nil
						})
					}
					b.Join("d", "a", "b", "c")
					b.Node("d", mark("d"))
				})
				th := in(g.Thread("p1-"+mode.String()), mode)
				snap, err := th.Invoke(t.Context(), note.Put("go"))
				wantErr(t, err, errBroken)
				var failed *graph.NodeError
				if !errors.As(err, &failed) || failed.Node != "b" || failed.Task != "b" || failed.Attempt != 1 {
					t.Fatalf("got %#v, want the failure of b", failed)
				}
				for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
					wantTrail(t, at, "a", "c")
					if !slices.Equal(at.Next, []string{"b"}) || !strings.Contains(at.Tasks[1].Err, "broken") {
						t.Fatalf("got next %q, tasks %+v", at.Next, at.Tasks)
					}
				}
				wantTrail(t, done(t, th), "a", "b", "c", "d")
				for n, want := range map[string]int{"a": 1, "b": 2, "c": 1} {
					runs.want(t, n, want)
				}
			})
		}
	})
}

// TestP3: the order of the reducer is that of the tasks, whoever is first.
func TestP3(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		rng := rand.New(rand.NewPCG(3, 3))
		for round := range 40 {
			gates := map[string]chan struct{}{}
			left := make(chan struct{})
			node := func(ctx context.Context, v state.View) (state.Update, error) {
				at, _ := graph.FromContext(ctx)
				<-gates[at.Task]
				defer func() { left <- struct{}{} }()
				return state.Update{trail.Put(at.Task)}, nil
			}
			names := []string{"delta", "alpha", "charlie", "bravo"}
			g := build(t, s, func(b *graph.Builder) {
				for _, n := range names {
					b.Node(n, node)
					b.Edge(graph.Start, n)
				}
				b.Node("work", node)
				b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
					return state.Update{graph.Send("work", item.Put(1)), graph.Send("work"), graph.Send("alpha"), graph.Send("work")}, nil
				}, "work", "alpha")
			})
			want := []string{"alpha", "bravo", "charlie", "delta", "work[0]", "work[1]", "alpha[2]", "work[3]"}
			for _, task := range want {
				gates[task] = make(chan struct{})
			}
			order := rng.Perm(len(want))
			go func() {
				for _, i := range order {
					close(gates[want[i]])
					<-left
				}
			}()
			wantTrail(t, done(t, g.Thread(words("p3", round)), note.Put("go")), want...)
		}
	})
}

type fidelity struct {
	Big     int64
	Small   uint8
	When    time.Time
	For     time.Duration
	Raw     []byte
	Nested  struct{ Deep map[string][]*fidelityLeaf }
	Ptr     *string
	Nothing *string
	Text    string
	Ratio   float64
}

type fidelityLeaf struct{ N int64 }

// TestP5: what a channel holds comes back as it was, or is a named error.
func TestP5(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		value, rows := state.Last[fidelity]("value"), state.Append[fidelity]("rows")
		table, any64 := state.Map[int64, fidelity]("table"), state.Last[int64]("int64")
		text := "é\u2028 <&> \x00 \U0001F600"
		want := fidelity{
			Big: 1<<53 + 1, Small: 255, When: time.Date(2026, 7, 1, 12, 30, 0, 123456789, time.FixedZone("", 5400)),
			For: 1<<62 + 1, Raw: []byte{0, 1, 254, 255}, Ptr: &text, Text: text, Ratio: 0.1 + 0.2,
		}
		want.Nested.Deep = map[string][]*fidelityLeaf{"": {{N: -1 << 63}, nil}, text: {}}
		makeGraph := func() *graph.Graph {
			b := graph.New("p5", value, rows, table, any64)
			b.Node("write", func(context.Context, state.View) (state.Update, error) {
				return state.Update{value.Put(want), rows.Put(want, want), table.Put(map[int64]fidelity{1<<53 + 1: want}), any64.Put(-1 << 63)}, nil
			})
			b.Node("send", func(_ context.Context, v state.View) (state.Update, error) {
				return state.Update{graph.Send("check", value.Put(value.Get(v)))}, nil
			})
			b.Node("check", func(ctx context.Context, v state.View) (state.Update, error) {
				got, err := p5Ask.Wait(ctx, value.Get(v))
				if err != nil {
					return nil, err
				}
				if !sameFidelity(got, want) || !sameFidelity(value.Get(v), want) {
					return nil, fmt.Errorf("got %+v and %+v, want %+v", got, value.Get(v), want)
				}
				return nil, nil
			})
			chain(b, "write", "send")
			b.Destinations("send", "check")
			return compile(t, b, graph.Options{Checkpoints: s})
		}
		snap := invoke(t, makeGraph().Thread("p5"), graph.Begin())
		again := makeGraph().Thread("p5") // which has nothing but what was stored
		for _, v := range []state.View{snap, snapshot(t, again)} {
			got := []fidelity{value.Get(v), rows.Get(v)[0], rows.Get(v)[1], table.Get(v)[1<<53+1]}
			for i := range got {
				if !sameFidelity(got[i], want) {
					t.Fatalf("%d: got %+v, want %+v", i, got[i], want)
				}
			}
			if n := any64.Get(v); n != -1<<63 {
				t.Fatalf("got %d", n)
			}
		}
		q := pending(t, p5Ask, snapshot(t, again))
		if len(q) != 1 || !sameFidelity(q[0].Prompt, want) {
			t.Fatalf("got questions %+v", q)
		}
		done(t, again, p5Ask.Answer(q[0].ID, q[0].Prompt))
	})
}

var p5Ask = graph.NewInterrupt[fidelity, fidelity]("p5")

// sameFidelity compares times by what they say: the zone's pointer is nobody's
// business.
func sameFidelity(a, b fidelity) bool {
	_, x := a.When.Zone()
	_, y := b.When.Zone()
	same := a.When.Equal(b.When) && x == y
	a.When, b.When = time.Time{}, time.Time{}
	return same && reflect.DeepEqual(a, b)
}

// TestP5Errors: what would not come back is refused by name.
func TestP5Errors(t *testing.T) {
	t.Parallel()
	type hidden struct{ secret int }
	for name, h := range map[string]state.Handle{
		"hidden field": state.Last[hidden]("bad"),
		"nested":       state.Append[map[string][]hidden]("bad"),
		"channel":      state.Last[chan int]("bad"),
		"function":     state.Map[string, func()]("bad"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_ = hidden{secret: 1}
			b := graph.New("p5", h)
			b.Node("a", mark("a"))
			b.Edge(graph.Start, "a")
			_, err := b.Compile(graph.Options{})
			wantErr(t, err, state.ErrRoundTrip)
			wantText(t, err, `"bad"`, `graph "p5"`)
		})
	}
	text, ratio, loose := state.Last[string]("text"), state.Last[float64]("ratio"), state.Last[any]("loose")
	zero := 0.0
	for name, w := range map[string]state.Write{
		"text":  text.Put("\xff"),
		"ratio": ratio.Put(zero / zero),
		"loose": loose.Put(int64(1<<53 + 1)),
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s checkpoint.Store) {
				bad := true
				b := graph.New("p5", text, ratio, loose)
				b.Node("a", func(context.Context, state.View) (state.Update, error) {
					if bad {
						return state.Update{w}, nil
					}
					return nil, nil
				})
				b.Edge(graph.Start, "a")
				th := compile(t, b, graph.Options{Checkpoints: s}).Thread("p5")
				_, err := th.Invoke(t.Context(), graph.Begin())
				wantErr(t, err, state.ErrRoundTrip)
				wantText(t, err, `"`+name+`"`, `thread "p5"`)
				bad = false
				done(t, th)
			})
		})
	}
}

// TestP6: any number of threads at once on one graph, and graphs on one store.
func TestP6(t *testing.T) {
	t.Run("threads", func(t *testing.T) {
		eachStore(t, func(t *testing.T, s checkpoint.Store) {
			g := p6Graph(t, s)
			p6Threads(t, 1000, func(int) *graph.Graph { return g })
		})
	})
	t.Run("graphs", func(t *testing.T) {
		eachStore(t, func(t *testing.T, s checkpoint.Store) {
			graphs := make([]*graph.Graph, 8)
			for i := range graphs {
				graphs[i] = p6Graph(t, s)
			}
			p6Threads(t, 200, func(i int) *graph.Graph { return graphs[i%len(graphs)] })
		})
	})
}

func p6Graph(t *testing.T, s checkpoint.Store) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		node := func(ctx context.Context, v state.View) (state.Update, error) {
			at, _ := graph.FromContext(ctx)
			if own := "for " + at.Thread; note.Get(v) != own {
				return nil, fmt.Errorf("thread %s sees %q", at.Thread, note.Get(v))
			}
			return state.Update{trail.Put(at.Thread + at.Node), total.Put(1)}, nil
		}
		for _, n := range []string{"a", "b", "c"} {
			b.Node(n, node)
		}
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "b")
		b.Join("c", "a", "b")
	})
}

func p6Threads(t *testing.T, n int, on func(i int) *graph.Graph) {
	var ready, all sync.WaitGroup
	ready.Add(n)
	for i := range n {
		all.Go(func() {
			id := fmt.Sprint("t", i)
			th := on(i).Thread(id)
			ready.Done()
			ready.Wait()
			snap, err := th.Invoke(t.Context(), note.Put("for "+id))
			if err == nil {
				snap, err = th.Snapshot(t.Context())
			}
			if err != nil {
				t.Errorf("thread %s: %v", id, err)
				return
			}
			if got, want := trail.Get(snap), []string{id + "a", id + "b", id + "c"}; !slices.Equal(got, want) || total.Get(snap) != 3 {
				t.Errorf("thread %s: got %q and %d, want %q", id, got, total.Get(snap), want)
			}
		})
	}
	all.Wait()
}

// TestP7: a panic is an error that names the node and holds the stack.
func TestP7(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, value := range []any{"oh no", errBroken} {
			for _, siblings := range []int{0, 3} {
				t.Run(words(value, siblings), func(t *testing.T) {
					panics := true
					g := build(t, s, func(b *graph.Builder) {
						b.Node("bad", func(context.Context, state.View) (state.Update, error) {
							if panics {
								explode(value)
							}
							return state.Update{trail.Put("bad")}, nil
						})
						b.Edge(graph.Start, "bad")
						for i := range siblings {
							b.Node(fmt.Sprint("c", i), mark("c"))
							b.Edge(graph.Start, fmt.Sprint("c", i))
						}
					})
					th := g.Thread(words("p7", value, siblings))
					_, err := th.Invoke(t.Context(), note.Put("go"))
					var failed *graph.NodeError
					var panicked *graph.PanicError
					if !errors.As(err, &failed) || failed.Node != "bad" || !errors.As(err, &panicked) || panicked.Value != value {
						t.Fatalf("got %v", err)
					}
					if !strings.Contains(string(panicked.Stack), "explode") {
						t.Fatalf("the stack is\n%s", panicked.Stack)
					}
					if _, isErr := value.(error); isErr {
						wantErr(t, err, errBroken)
					}
					wantText(t, err, `thread "p7`, `node "bad"`, "panic: ", fmt.Sprint(value))
					panics = false
					if snap := done(t, th); trail.Len(snap) != 1+siblings {
						t.Fatalf("got %q", trail.Get(snap))
					}
				})
			}
		}
	})
}

func explode(v any) { panic(v) }

// TestP8: an endless loop ends at its limit or with its context, promptly.
func TestP8(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var at func(n int)
		g := build(t, s, func(b *graph.Builder) {
			b.Node("spin", func(_ context.Context, v state.View) (state.Update, error) {
				if at != nil {
					at(total.Get(v))
				}
				return state.Update{total.Put(1)}, nil
			})
			b.Edge(graph.Start, "spin")
			b.Edge("spin", "spin")
		})
		th := g.Thread("limit")
		snap, err := th.Invoke(t.Context(), note.Put("go"))
		wantErr(t, err, graph.ErrMaxSteps)
		wantText(t, err, "spin")
		if total.Get(snap) != 100 || total.Get(snapshot(t, th)) != 100 {
			t.Fatalf("got %d steps, want 100", total.Get(snap))
		}
		snap, err = th.With(graph.RunOptions{MaxSteps: 7}).Invoke(t.Context())
		wantErr(t, err, graph.ErrMaxSteps)
		if total.Get(snap) != 107 {
			t.Fatalf("got %d steps, want 107", total.Get(snap))
		}
		why := errors.New("enough")
		for _, mode := range modes {
			ctx, cancel := context.WithCancelCause(t.Context())
			at = func(n int) {
				if n == 42 {
					cancel(why)
				}
			}
			th := in(g.Thread("cancel"+mode.String()), mode)
			_, err := th.Invoke(ctx, note.Put("go"))
			wantErr(t, err, why)
			if n := total.Get(snapshot(t, th)); n != 42 && n != 43 {
				t.Fatalf("%v: got %d steps kept, want 42 or 43", mode, n)
			}
		}
	})
}

// TestP8Wait: a node that waits for its context ends with it.
func TestP8Wait(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		started, waits := make(chan struct{}, 2), true
		g := build(t, s, func(b *graph.Builder) {
			b.Node("wait", func(ctx context.Context, _ state.View) (state.Update, error) {
				if waits {
					started <- struct{}{}
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return nil, nil
			})
			b.Edge(graph.Start, "wait")
			b.Node("side", mark("side"))
			b.Edge(graph.Start, "side")
		})
		for _, stream := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			th := g.Thread(words("wait", stream))
			waits = true
			var err error
			if stream {
				for _, err = range th.Stream(ctx, note.Put("go")) {
				}
			} else {
				_, err = th.Invoke(ctx, note.Put("go"))
			}
			wantErr(t, err, context.Canceled)
			waits = false
			wantTrail(t, done(t, th), "side")
		}
	})
}

// TestP10: a new turn of a finished thread starts at the entry.
func TestP10(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			g := build(t, s, func(b *graph.Builder) {
				b.Node("a", mark("a"))
				b.Node("b", mark("b"))
				chain(b, "a", "b")
			})
			th := in(g.Thread("p10"+mode.String()), mode)
			wantTrail(t, done(t, th, note.Put("one")), "a", "b")
			wantTrail(t, done(t, th, note.Put("two")), "a", "b", "a", "b")
			wantTrail(t, done(t, th, graph.Begin()), "a", "b", "a", "b", "a", "b")
			if n := note.Get(done(t, th)); n != "two" { // nothing to go on with
				t.Fatalf("got %q", n)
			}
			wantTrail(t, snapshot(t, th), "a", "b", "a", "b", "a", "b")
		}
	})
}
