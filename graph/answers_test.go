package graph_test

import (
	"context"
	"encoding/json"
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

// asking returns a node that calls did, asks a question, and appends the answer to the
// trail.
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

// processGraphs holds the graphs that a child process can run. The function did is
// called with the name of each task that runs.
var processGraphs = map[string]func(b *graph.Builder, did func(string)){
	"parallel": func(b *graph.Builder, did func(string)) {
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
	"keyed": func(b *graph.Builder, did func(string)) {
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
	"sent": func(b *graph.Builder, did func(string)) {
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

// questions returns the sorted names of the open questions, and their ids by name.
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

// answered resumes a thread with an answer, "yes" and the question's name, for each
// named question. It returns the questions that are open afterwards.
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
	// answer GRAPH THREAD NAME… answers the named questions and prints an answerReport.
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

// answerReport holds the tasks that ran in a child process, the questions that are open
// afterwards, and the trail.
type answerReport struct{ Ran, Open, Trail []string }

// answerCase describes the questions of a graph in processGraphs.
type answerCase struct {
	graph string
	asks  []string              // the names of all questions
	task  func(q string) string // the task that asks a question
	trail []string              // the trail at the end of the run
	quiet []string              // the tasks that ask no question
	then  []string              // the tasks that run after the last answer
}

var answerCases = map[string]answerCase{
	"parallel": {
		graph: "parallel", asks: []string{"a", "b", "d"}, task: func(q string) string { return q },
		trail: []string{"a=yes a", "b=yes b", "c", "d=yes d", "end"}, quiet: []string{"c"},
	},
	"keyed": {
		graph: "keyed", asks: []string{"x", "y", "z"}, task: func(string) string { return "n" },
		trail: []string{"x=yes x", "y=yes y", "z=yes z"},
	},
	"sent": {
		graph: "sent", asks: []string{"in0", "in2", "in3"}, task: func(q string) string { return "work[" + q[2:] + "]" },
		trail: []string{"in0=yes in0", "in1", "in2=yes in2", "in3=yes in3", "end"}, quiet: []string{"work[1]"},
	},
	"nested": {
		graph: "nested", asks: []string{"3a", "3b"}, task: func(q string) string { return q },
		trail: []string{"before", "in1", "in2", "in3", "3a=yes 3a", "3b=yes 3b", "out3", "out2", "out1", "after"}, quiet: []string{"before", "in1", "in2", "in3"},
		then: []string{"after", "out1", "out2", "out3"},
	},
}

// TestParallelQuestionsAnsweredInAnyOrder proves that all questions of a superstep are
// open at once, that they can be answered in any order and in any groups, and that a
// task without a question runs once.
func TestParallelQuestionsAnsweredInAnyOrder(t *testing.T) { testAnswers(t, answerCases["parallel"]) }

// TestKeyedQuestionsGetTheirOwnAnswers proves that each of several questions of one node
// receives its own answer, also if goroutines ask them at the same time.
func TestKeyedQuestionsGetTheirOwnAnswers(t *testing.T) { testAnswers(t, answerCases["keyed"]) }

// TestSentTaskKeepsInputAndAnswer proves that a sent task which asks a question resumes
// with its own input and its own answer.
func TestSentTaskKeepsInputAndAnswer(t *testing.T) { testAnswers(t, answerCases["sent"]) }

// TestNestedQuestionsAnsweredInAnyOrder proves that questions of nested subgraphs can be
// answered in any order.
func TestNestedQuestionsAnsweredInAnyOrder(t *testing.T) { testAnswers(t, answerCases["nested"]) }

// testAnswers answers the questions of a case in every order, in one process, and in two
// orders with a process for each group of answers.
func testAnswers(t *testing.T, c answerCase) {
	t.Run("one process", func(t *testing.T) {
		eachStore(t, func(t *testing.T, s checkpoint.Store) {
			for _, mode := range modes {
				for i, order := range partitions(c.asks) {
					c.run(t, s, fmt.Sprint(mode, i), mode, order)
				}
			}
		})
	})
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		orders := partitions(c.asks)
		for _, i := range []int{len(orders) / 2, len(orders) - 1} {
			t.Run(fmt.Sprint(orders[i]), func(t *testing.T) {
				t.Parallel()
				c.runInProcesses(t, orders[i])
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
	answers := map[string]int{} // the number of runs with an answer, by task
	for _, names := range order {
		for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
			open, _, err := questions(at)
			require.NoError(t, err)
			require.Equal(t, left, open, "open questions, order %v", order)
			require.False(t, at.Done(), "order %v", order)
		}
		open, after, err := answered(t.Context(), th, names...)
		require.NoError(t, err, "order %v", order)
		left = slices.DeleteFunc(left, func(q string) bool { return slices.Contains(names, q) })
		require.Equal(t, strings.Join(left, " "), strings.Join(open, " "), "open questions after %q, order %v", names, order)
		tasks := map[string]bool{}
		for _, q := range names {
			tasks[c.task(q)] = true
		}
		for task := range tasks {
			answers[task]++
		}
		snap = after
	}
	require.True(t, snap.Done(), "order %v", order)
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

// runInProcesses sends each group of answers from a separate process.
func (c answerCase) runInProcesses(t *testing.T, order [][]string) {
	t.Helper()
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
		require.Equal(t, strings.Join(left, " "), strings.Join(r.Open, " "), "open questions after %q", names)
		require.Equal(t, tasks, r.Ran, "tasks that ran with the answers %q", names)
	}
	require.Equal(t, c.trail, r.Trail)
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

// TestConflictVoidsQuestionsOfSuperstep proves that a superstep whose writes conflict
// fails and opens no question, in each run that repeats it.
func TestConflictVoidsQuestionsOfSuperstep(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		mode := state.Last[string]("mode")
		b := graph.New("test", note, mode)
		for _, name := range []string{"a", "b"} {
			b.Node(name, func(context.Context, state.View) (state.Update, error) { return state.Update{mode.Put(name)}, nil })
		}
		b.Node("c", func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := ask.Wait(ctx, "c?")
			return nil, err
		})
		for _, name := range []string{"a", "b", "c"} {
			b.Edge(graph.Start, name)
		}
		th := compile(t, b, graph.Options{Checkpoints: store}).Thread("t")
		for range 2 {
			snap, err := th.Invoke(t.Context(), note.Put("go"))
			require.ErrorIs(t, err, state.ErrConcurrentWrite)
			require.ErrorContains(t, err, `"a"`)
			if snap != nil {
				require.Empty(t, snap.Pauses)
			}
			_, err = th.Invoke(t.Context())
			require.ErrorIs(t, err, state.ErrConcurrentWrite)
		}
	})
}
