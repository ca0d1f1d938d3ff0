package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var ask = graph.NewInterrupt[string, string]("ask")

// asking returns a node that asks for what it writes.
func asking(name string, did func(string)) graph.NodeFunc {
	return func(ctx context.Context, _ state.View) (state.Update, error) {
		did(name)
		a, err := ask.Wait(ctx, name+"?")
		if err != nil {
			return nil, err
		}
		return state.Update{trail.Put(name + "=" + a)}, nil
	}
}

// processGraphs are what a child process runs. Did is told of every execution.
var processGraphs = map[string]func(b *graph.Builder, did func(string)){
	"p2": func(b *graph.Builder, did func(string)) {
		for _, n := range []string{"a", "b", "d"} {
			b.Node(n, asking(n, did))
			b.Edge(graph.Start, n)
		}
		b.Node("c", func(context.Context, state.View) (state.Update, error) {
			did("c")
			return state.Update{trail.Put("c")}, nil
		})
		b.Edge(graph.Start, "c")
		b.Join("end", "a", "b", "c", "d")
		b.Node("end", mark("end"))
	},
	"p2b": func(b *graph.Builder, did func(string)) {
		b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
			did("n")
			keys := []string{"x", "y", "z"}
			got, errs := make([]string, len(keys)), make([]error, len(keys))
			var all sync.WaitGroup
			for i, k := range keys {
				all.Go(func() { got[i], errs[i] = ask.WaitKey(ctx, k, k+"?") })
			}
			all.Wait()
			var u state.Update
			for i, k := range keys {
				if errs[i] != nil {
					return nil, errs[i]
				}
				u = append(u, trail.Put(k+"="+got[i]))
			}
			return u, nil
		})
		b.Edge(graph.Start, "n")
	},
	"p2c": func(b *graph.Builder, did func(string)) {
		b.Node("map", func(context.Context, state.View) (state.Update, error) {
			var u state.Update
			for i := range 4 {
				u = append(u, graph.Send("work", item.Put(i), note.Put(fmt.Sprint("in", i))))
			}
			return u, nil
		})
		b.Edge(graph.Start, "map")
		b.Destinations("map", "work")
		b.Node("work", func(ctx context.Context, v state.View) (state.Update, error) {
			at, _ := graph.FromContext(ctx)
			did(at.Task)
			in := note.Get(v)
			if item.Get(v) == 1 {
				return state.Update{trail.Put(in)}, nil
			}
			a, err := ask.WaitKey(ctx, in, in+"?")
			return state.Update{trail.Put(in + "=" + a)}, err
		})
		b.Edge("work", "end")
		b.Node("end", mark("end"))
	},
	"nested": func(b *graph.Builder, did func(string)) { nest(b, did, 3) },
}

func processGraph(t testing.TB, name string, s checkpoint.Store, did func(string)) *graph.Graph {
	return build(t, s, func(b *graph.Builder) { processGraphs[name](b, did) })
}

// questions names the open questions of a thread, in an order of their own.
func questions(s *graph.Snapshot) ([]string, map[string]string, error) {
	open, err := ask.Open(s)
	ids := map[string]string{}
	var names []string
	for _, q := range open {
		if q.Prompt != strings.TrimSuffix(q.Prompt, "?")+"?" {
			return nil, nil, fmt.Errorf("prompt %q", q.Prompt)
		}
		name := strings.TrimSuffix(q.Prompt, "?")
		names, ids[name] = append(names, name), q.ID
	}
	slices.Sort(names)
	return names, ids, err
}

// answered resumes a thread with answers, each "yes" and the question's name,
// and returns what is asked next.
func answered(ctx context.Context, th *graph.Thread, names ...string) ([]string, *graph.Snapshot, error) {
	s, err := th.Snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	_, ids, err := questions(s)
	if err != nil {
		return nil, nil, err
	}
	var in []state.Write
	for _, n := range names {
		in = append(in, ask.Answer(ids[n], "yes "+n))
	}
	if s, err = th.Invoke(ctx, in...); err != nil {
		return nil, nil, err
	}
	open, _, err := questions(s)
	return open, s, err
}

func init() {
	// answer GRAPH THREAD NAME… answers questions and tells what ran, what is
	// asked next and the trail.
	children["answer"] = func(c *child) error {
		b := graph.New("test", trail, total, note, item)
		var mu sync.Mutex
		ran := []string{}
		processGraphs[c.args[0]](b, func(name string) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, name)
		})
		g, err := b.Compile(graph.Options{Checkpoints: c.store})
		if err != nil {
			return err
		}
		var r answerReport
		var s *graph.Snapshot
		if r.Open, s, err = answered(c.ctx, g.Thread(c.args[1]), c.args[2:]...); err != nil {
			return err
		}
		slices.Sort(ran)
		r.Ran, r.Trail = ran, trail.Get(s)
		data, err := json.Marshal(r)
		c.say(string(data))
		return err
	}
}

type answerReport struct{ Ran, Open, Trail []string }

// answerCase is a graph of processGraphs that asks, and what it should do.
type answerCase struct {
	graph string
	asks  []string // its questions, each of a task of its own unless one is named
	task  func(q string) string
	trail []string
	quiet []string // tasks that do not ask
	then  []string // tasks behind the questions
}

var answerCases = map[string]answerCase{
	"TestP2": {
		graph: "p2", asks: []string{"a", "b", "d"}, task: func(q string) string { return q },
		trail: []string{"a=yes a", "b=yes b", "c", "d=yes d", "end"}, quiet: []string{"c"},
	},
	"TestP2b": {
		graph: "p2b", asks: []string{"x", "y", "z"}, task: func(string) string { return "n" },
		trail: []string{"x=yes x", "y=yes y", "z=yes z"},
	},
	"TestP2c": {
		graph: "p2c", asks: []string{"in0", "in2", "in3"}, task: func(q string) string { return "work[" + q[2:] + "]" },
		trail: []string{"in0=yes in0", "in1", "in2=yes in2", "in3=yes in3", "end"}, quiet: []string{"work[1]"},
	},
	"TestNestedAnswers": {
		graph: "nested", asks: []string{"3a", "3b"}, task: func(q string) string { return q },
		trail: []string{"before", "in1", "in2", "in3", "3a=yes 3a", "3b=yes 3b", "out3", "out2", "out1", "after"}, quiet: []string{"before", "in1", "in2", "in3"},
		then: []string{"after", "out1", "out2", "out3"},
	},
}

// TestP2: several questions of one superstep are all shown, and answered in any
// order and company; what does not ask runs once.
func TestP2(t *testing.T) { testAnswers(t, answerCases["TestP2"]) }

// TestP2b: each of several questions of one node gets its own answer, also when
// they are asked from goroutines at once.
func TestP2b(t *testing.T) { testAnswers(t, answerCases["TestP2b"]) }

// TestP2c: a sent task keeps its input and its answer.
func TestP2c(t *testing.T) { testAnswers(t, answerCases["TestP2c"]) }

// TestNestedAnswers: the same three subgraphs down.
func TestNestedAnswers(t *testing.T) { testAnswers(t, answerCases["TestNestedAnswers"]) }

func testAnswers(t *testing.T, c answerCase) {
	t.Run("here", func(t *testing.T) {
		eachStore(t, func(t *testing.T, s checkpoint.Store) {
			for _, mode := range modes {
				for i, order := range partitions(c.asks) {
					c.run(t, s, fmt.Sprint(mode, i), mode, order)
				}
			}
		})
	})
	t.Run("elsewhere", func(t *testing.T) {
		t.Parallel()
		orders := partitions(c.asks)
		for _, i := range []int{len(orders) / 2, len(orders) - 1} {
			t.Run(fmt.Sprint(orders[i]), func(t *testing.T) {
				t.Parallel()
				c.runElsewhere(t, orders[i])
			})
		}
	})
}

func (c answerCase) run(t *testing.T, s checkpoint.Store, thread string, mode graph.Durability, order [][]string) {
	t.Helper()
	var runs counter
	g := processGraph(t, c.graph, s, func(name string) { runs.add(name) })
	th := in(g.Thread(thread), mode)
	snap := invoke(t, th, note.Put("go"))
	left := slices.Clone(c.asks)
	answers := map[string]int{}
	for _, names := range order {
		for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
			if open, _, err := questions(at); err != nil || !slices.Equal(open, left) {
				t.Fatalf("%v: got questions %q, %v, want %q", order, open, err, left)
			}
			if at.Done() {
				t.Fatalf("%v: the thread is done with questions open", order)
			}
		}
		open, after, err := answered(t.Context(), th, names...)
		if err != nil {
			t.Fatalf("%v: %v", order, err)
		}
		left = slices.DeleteFunc(left, func(q string) bool { return slices.Contains(names, q) })
		if !slices.Equal(open, left) {
			t.Fatalf("%v: after %q: got %q, want %q", order, names, open, left)
		}
		tasks := map[string]bool{}
		for _, q := range names {
			tasks[c.task(q)] = true
		}
		for task := range tasks {
			answers[task]++
		}
		snap = after
	}
	if !snap.Done() {
		t.Fatalf("%v: the thread is not done: next %q", order, snap.Next)
	}
	for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
		require.Equal(t, c.trail, trail.Get(at))
	}
	for task, n := range answers {
		runs.want(t, task, 1+n)
	}
	for _, task := range c.quiet {
		runs.want(t, task, 1)
	}
}

// runElsewhere gives each group of answers in a process of its own.
func (c answerCase) runElsewhere(t *testing.T, order [][]string) {
	file := filepath.Join(t.TempDir(), "weft.db")
	g := processGraph(t, c.graph, openFile(t, file), func(string) {})
	invoke(t, g.Thread("t"), note.Put("go"))
	left := slices.Clone(c.asks)
	var r answerReport
	for _, names := range order {
		p := spawn(t, "answer", file, append([]string{c.graph, "t"}, names...)...)
		r = answerReport{}
		require.NoError(t, json.Unmarshal([]byte(p.line(t)), &r))
		p.wait(t)
		left = slices.DeleteFunc(left, func(q string) bool { return slices.Contains(names, q) })
		var tasks []string
		for _, q := range names {
			tasks = append(tasks, c.task(q))
		}
		if len(left) == 0 {
			tasks = append(tasks, c.then...)
		}
		slices.Sort(tasks)
		tasks = slices.Compact(tasks)
		if !slices.Equal(r.Open, left) || !slices.Equal(r.Ran, tasks) {
			t.Fatalf("after %q: got %+v, want %q to run and %q open", names, r, tasks, left)
		}
	}
	if !slices.Equal(r.Trail, c.trail) {
		t.Fatalf("got %q, want %q", r.Trail, c.trail)
	}
	require.Equal(t, c.trail, trail.Get(snapshot(t, g.Thread("t"))))
}

// partitions returns every way to split names into a sequence of groups.
func partitions(names []string) [][][]string {
	if len(names) == 0 {
		return [][][]string{nil}
	}
	var out [][][]string
	for _, rest := range partitions(names[1:]) {
		for i := range rest {
			joined := slices.Clone(rest)
			joined[i] = append([]string{names[0]}, rest[i]...)
			out = append(out, joined)
		}
		for i := range len(rest) + 1 {
			out = append(out, slices.Insert(slices.Clone(rest), i, []string{names[0]}))
		}
	}
	return out
}

// TestConflictBesideAQuestion: nobody is asked for what could not be applied behind the answer.
func TestConflictBesideAQuestion(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		mode := state.Last[string]("mode")
		sure := graph.NewInterrupt[string, bool]("sure")
		b := graph.New("test", note, mode)
		for _, name := range []string{"a", "b"} {
			b.Node(name, func(context.Context, state.View) (state.Update, error) { return state.Update{mode.Put(name)}, nil })
		}
		b.Node("c", func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := sure.Wait(ctx, "sure?")
			return nil, err
		})
		for _, name := range []string{"a", "b", "c"} {
			b.Edge(graph.Start, name)
		}
		th := compile(t, b, graph.Options{Checkpoints: store}).Thread("t")
		for range 2 { // what was refused is done anew
			snap, err := th.Invoke(t.Context(), note.Put("go"))
			if !errors.Is(err, state.ErrConcurrentWrite) || !strings.Contains(err.Error(), `"a"`) {
				t.Errorf("got %v, want %v", err, state.ErrConcurrentWrite)
			}
			if snap != nil && len(snap.Pauses) > 0 {
				t.Errorf("asked %+v", snap.Pauses)
			}
			if _, err = th.Invoke(t.Context()); !errors.Is(err, state.ErrConcurrentWrite) {
				t.Errorf("going on: got %v, want %v", err, state.ErrConcurrentWrite)
			}
		}
	})
}
