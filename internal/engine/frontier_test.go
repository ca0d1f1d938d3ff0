package engine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// newPlan returns a plan of nodes and joins. A node is written as "name" or "name>a,b"
// with the targets of its edges; a name with a "!" in front is deferred. A join is
// written as "a+b>target".
func newPlan(t testing.TB, parts ...string) *Plan {
	t.Helper()
	schema, err := statecore.NewSchema[state.Handle]()
	require.NoError(t, err)
	p := &Plan{Schema: schema, Start: &Node{Name: Start}}
	for _, part := range parts {
		name, targets, _ := strings.Cut(part, ">")
		if sources := strings.Split(name, "+"); len(sources) > 1 {
			slices.Sort(sources)
			p.Joins = append(p.Joins, Join{Target: targets, Sources: sources})
			continue
		}
		n := &Node{Name: strings.TrimPrefix(name, "!"), Deferred: strings.HasPrefix(name, "!")}
		if targets != "" {
			n.Edges = strings.Split(targets, ",")
		}
		p.Nodes = append(p.Nodes, n)
	}
	slices.SortFunc(p.Nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	p.Link()
	return p
}

// completed returns tasks that completed. A task is written as "node". The targets that it
// chose follow after ">", and the nodes to which it sent follow after "*".
func completed(p *Plan, tasks string) []routed {
	var done []routed
	for _, text := range strings.Fields(tasks) {
		text, sends, _ := strings.Cut(text, "*")
		name, targets, _ := strings.Cut(text, ">")
		r := routed{node: p.byName[name]}
		if targets != "" {
			for _, to := range strings.Split(targets, ",") {
				r.targets = append(r.targets, p.byName[to])
			}
		}
		if sends != "" {
			for _, to := range strings.Split(sends, ",") {
				r.sends = append(r.sends, sentTask{node: p.byName[to]})
			}
		}
		done = append(done, r)
	}
	return done
}

// dueTasks returns the ids of the tasks that are due.
func dueTasks(f *frontier) string {
	ids := nodeNames(f.next)
	for i, s := range f.sends {
		ids = append(ids, taskID(s.node.Name, i+1, ""))
	}
	return strings.Join(ids, " ")
}

func TestNextFrontier(t *testing.T) {
	t.Parallel()
	type step struct{ done, due string }
	for name, c := range map[string]struct {
		plan  []string
		steps []step
	}{
		"an edge leads to its target": {
			[]string{"a>b", "b"},
			[]step{{"a", "b"}, {"b", ""}},
		},
		"several edges are due by name": {
			[]string{"a>d,b,c", "b", "c", "d"},
			[]step{{"a", "b c d"}},
		},
		"a target of several tasks runs once": {
			[]string{"a>c", "b>c", "c"},
			[]step{{"a b", "c"}},
		},
		"an edge to End leads nowhere": {
			[]string{"a>" + End + ",b", "b>" + End},
			[]step{{"a", "b"}, {"b", ""}},
		},
		"a chosen target is due beside the edges": {
			[]string{"a>b", "b", "c"},
			[]step{{"a>c", "b c"}, {"b>b", "b"}},
		},
		"a loop": {
			[]string{"a>b", "b>a"},
			[]step{{"a", "b"}, {"b", "a"}, {"a", "b"}},
		},
		"sent tasks keep their order and are not merged": {
			[]string{"a>z", "b", "x", "z"},
			[]step{{"a*x,b,x", "z x[0] b[1] x[2]"}},
		},
		"sent tasks of several tasks are in the order of the tasks": {
			[]string{"a", "b", "x", "y"},
			[]step{{"a*x,y b*y,x", "x[0] y[1] y[2] x[3]"}},
		},
		"a join waits for all sources": {
			[]string{"a", "b", "j", "a+b>j"},
			[]step{{"a b", "j"}},
		},
		"the sources of a join complete in different supersteps": {
			[]string{"a", "b", "c>b", "j", "a+b>j"},
			[]step{{"a c", "b"}, {"b", "j"}, {"j", ""}},
		},
		"a source that runs twice before the join counts once": {
			[]string{"a>a2", "a2>a", "b", "c>c2", "c2>b", "j", "a+b>j"},
			[]step{{"a c", "a2 c2"}, {"a2 c2", "a b"}, {"a b", "a2 j"}, {"a2 j", "a"}, {"a", "a2"}},
		},
		"a join starts again when its target has become due": {
			[]string{"a", "b", "j>a,b", "a+b>j"},
			[]step{{"a b", "j"}, {"j", "a b"}, {"a b", "j"}},
		},
		"two joins to one target run it once": {
			[]string{"a", "b", "c", "j", "a+b>j", "b+c>j"},
			[]step{{"a b c", "j"}, {"j", ""}},
		},
		"joins to one target are complete one after the other": {
			[]string{"a", "b", "c", "d>c", "j", "a+b>j", "b+c>j"},
			[]step{{"a b d", "c j"}, {"c j", "j"}},
		},
		"sent tasks of one node complete a join once": {
			[]string{"a", "w", "j", "a+w>j"},
			[]step{{"a*w,w", "w[0] w[1]"}, {"w w", "j"}},
		},
		"a deferred node waits until nothing else is due": {
			[]string{"a>b,d", "b>c,d", "c", "!d>a"},
			[]step{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", "a"}},
		},
		"a sent task delays a deferred node": {
			[]string{"a>d", "x", "!d"},
			[]step{{"a*x", "x[0]"}, {"x", "d"}},
		},
		"a task that schedules nothing": {
			[]string{"a", "b"},
			[]step{{"a", ""}},
		},
		"a task chooses one target": {
			[]string{"a", "b"},
			[]step{{"a>b", "b"}},
		},
		"a task chooses several targets, one of them twice": {
			[]string{"a", "b", "c"},
			[]step{{"a>c,b,c", "b c"}},
		},
		"two tasks choose the same target": {
			[]string{"a", "b", "c"},
			[]step{{"a>c b>c", "c"}},
		},
		"a node whose edge leads to itself": {
			[]string{"a>a"},
			[]step{{"a", "a"}, {"a", "a"}},
		},
		"only a sent task is due": {
			[]string{"a", "x"},
			[]step{{"a*x", "x[0]"}, {"x", ""}},
		},
		"an edge and a Send to one node are two tasks": {
			[]string{"a>x", "x"},
			[]step{{"a*x", "x x[0]"}},
		},
		"a Send to a deferred node does not wait": {
			[]string{"a>b", "b", "!d"},
			[]step{{"a*d", "b d[0]"}, {"b d", ""}},
		},
		"a chosen deferred node waits": {
			[]string{"a", "b", "!d"},
			[]step{{"a>b,d", "b"}, {"b", "d"}, {"d", ""}},
		},
		"a deferred node that is the only target does not wait": {
			[]string{"a>d", "!d>a"},
			[]step{{"a", "d"}, {"d", "a"}},
		},
		"deferred nodes are due together, by name": {
			[]string{"a>z,b", "b>y,x", "!x", "!y", "!z"},
			[]step{{"a", "b"}, {"b", "x y z"}, {"x y z", ""}},
		},
		"a deferred node that is triggered twice runs once": {
			[]string{"a>b,d", "b>c,d", "c", "!d"},
			[]step{{"a", "b"}, {"b", "c"}, {"c", "d"}, {"d", ""}},
		},
		"one source completes several joins": {
			[]string{"a", "b", "c", "i", "j", "a+b>i", "a+c>j"},
			[]step{{"b c", ""}, {"a", "i j"}, {"i j", ""}},
		},
		"a join counts a source that completed before its target ran otherwise": {
			[]string{"a>j", "b", "j", "a+b>j"},
			[]step{{"a", "j"}, {"j", ""}, {"b", "j"}, {"j", ""}},
		},
		"a join and an edge make the target due once": {
			[]string{"a>j", "b", "j", "a+b>j"},
			[]step{{"a b", "j"}, {"j", ""}},
		},
		"the target of a join is one of its sources": {
			[]string{"a", "j>a", "a+j>j"},
			[]step{{"a", ""}, {"j", "a j"}, {"a j", "a j"}},
		},
		"a deferred target of a join": {
			[]string{"a", "b>c", "c", "!j", "a+b>j"},
			[]step{{"a b", "c"}, {"c", "j"}, {"j", ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlan(t, c.plan...)
			var f frontier
			for i, s := range c.steps {
				f = nextFrontier(p, &f, completed(p, s.done))
				require.Equal(t, s.due, dueTasks(&f), "after superstep %d: %s", i+1, s.done)
			}
			assert.Empty(t, f.waiting)
		})
	}
}

func TestNextFrontierNamesItsNodes(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "a", "b", "w")
	f := nextFrontier(p, &frontier{}, completed(p, "a w w b"))
	assert.Equal(t, []string{"a", "w", "b"}, f.by, "each node once, in the order of its tasks")

	f = nextFrontier(p, &frontier{}, completed(p, "a"))
	assert.Equal(t, []string{"a"}, f.by, "a single task")
}

func TestNextFrontierKeepsPersistentSubgraphsAndCall(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "a>b", "b>a,b")
	before := frontier{persistent: map[string]string{"name": "id"}, call: "call"}
	for _, task := range []string{"a", "b"} { // with one target, and with two
		f := nextFrontier(p, &before, completed(p, task))
		assert.Equal(t, before.persistent, f.persistent)
		assert.Equal(t, "call", f.call)
	}
}

func TestNextFrontierChangesNothingItIsGiven(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "a>x", "b>x", "x", "!d", "j", "a+b>j", "a+x>j")
	before := nextFrontier(p, &frontier{}, completed(p, "a>d*x"))
	arrived, waiting := fmt.Sprint(before.arrived), nodeNames(before.waiting)

	tasks := completed(p, "b*x x*x")
	tasks[0].sends = append(make([]sentTask, 0, 8), tasks[0].sends...)
	f := nextFrontier(p, &before, tasks)
	assert.Equal(t, "j x x[0] x[1]", dueTasks(&f))
	assert.Equal(t, arrived, fmt.Sprint(before.arrived))
	assert.Equal(t, waiting, nodeNames(before.waiting))
	assert.Nil(t, tasks[0].sends[:2][1].node, "a sent task of another task in the memory of the first")
}

// A reference computes the same frontiers as nextFrontier, with maps.
type reference struct {
	plan    *Plan
	arrived []map[string]bool // by join
	waiting map[string]bool
}

func (r *reference) next(done []routed) (due []string) {
	now, sends := map[string]bool{}, []string{}
	trigger := func(name string) {
		switch n := r.plan.byName[name]; {
		case name == End:
		case n.Deferred:
			r.waiting[name] = true
		default:
			now[name] = true
		}
	}
	for _, d := range done {
		for _, name := range d.node.Edges {
			trigger(name)
		}
		for _, n := range d.targets {
			trigger(n.Name)
		}
		for _, s := range d.sends {
			sends = append(sends, s.node.Name)
		}
		for i, j := range r.plan.Joins {
			if slices.Contains(j.Sources, d.node.Name) {
				r.arrived[i][d.node.Name] = true
			}
		}
	}
	for i, j := range r.plan.Joins {
		if len(r.arrived[i]) == len(j.Sources) {
			trigger(j.Target)
		}
	}
	if len(now)+len(sends) == 0 {
		now, r.waiting = r.waiting, map[string]bool{}
	}
	for i, j := range r.plan.Joins {
		if now[j.Target] && len(r.arrived[i]) == len(j.Sources) {
			r.arrived[i] = map[string]bool{}
		}
	}
	for name := range now {
		due = append(due, name)
	}
	slices.Sort(due)
	for i, name := range sends {
		due = append(due, taskID(name, i+1, ""))
	}
	return due
}

// waitingJoins returns the joins of which some, but not all, sources have completed.
func (r *reference) waitingJoins() (out []WaitingJoin) {
	for i, j := range r.plan.Joins {
		if n := len(r.arrived[i]); n == 0 || n == len(j.Sources) {
			continue
		}
		w := WaitingJoin{Target: j.Target}
		for _, source := range j.Sources {
			if r.arrived[i][source] {
				w.Arrived = append(w.Arrived, source)
			} else {
				w.Awaiting = append(w.Awaiting, source)
			}
		}
		out = append(out, w)
	}
	return out
}

func TestNextFrontierIsThatOfTheReference(t *testing.T) {
	t.Parallel()
	rnd := newRand(t)
	for range 2000 {
		p := randomPlan(t, rnd)
		r := reference{plan: p, waiting: map[string]bool{}}
		for range p.Joins {
			r.arrived = append(r.arrived, map[string]bool{})
		}
		f := frontier{next: p.Nodes[:1+rnd.IntN(len(p.Nodes))]}
		for step := range 8 {
			done := randomResults(p, &f, rnd)
			if len(done) == 0 {
				break
			}
			advanced := f
			ok := len(done) == 1 && advanced.advance(p, taskOf(done[0]))
			f = nextFrontier(p, &f, done)
			if ok {
				require.Equal(t, f, advanced, "superstep %d", step+1)
			}
			require.Equal(t, strings.Join(r.next(done), " "), dueTasks(&f), "superstep %d", step+1)
			require.Equal(t, slices.Sorted(maps.Keys(r.waiting)), nodeNames(f.waiting), "superstep %d", step+1)
			require.Equal(t, r.waitingJoins(), p.waitingJoins(&f), "superstep %d", step+1)
		}
	}
}

// taskOf returns a completed task with a result.
func taskOf(r routed) *Task {
	return &Task{node: r.node, targets: r.targets, extras: &taskExtras{sends: r.sends}}
}

// newRand returns a source of random numbers, and logs its seed.
// To repeat a test, set the environment variable WEFT_SEED to the logged seed.
func newRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("WEFT_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "WEFT_SEED")
	}
	t.Logf("WEFT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomPlan returns a plan of up to six nodes with edges, joins and deferred nodes.
func randomPlan(t *testing.T, rnd *rand.Rand) *Plan {
	names := strings.Fields("a b c d e f")[:2+rnd.IntN(5)]
	some := func(p float64) []string {
		return slices.DeleteFunc(slices.Clone(names), func(string) bool { return rnd.Float64() > p })
	}
	var parts []string
	for _, name := range names {
		part := name + ">" + strings.Join(some(0.2), ",")
		if rnd.IntN(5) == 0 {
			part = "!" + part
		}
		parts = append(parts, part)
	}
	for range rnd.IntN(4) {
		if sources := some(0.4); len(sources) > 1 {
			parts = append(parts, strings.Join(sources, "+")+">"+names[rnd.IntN(len(names))])
		}
	}
	return newPlan(t, parts...)
}

// randomResults returns the results of the due tasks, with random targets and sends.
func randomResults(p *Plan, f *frontier, rnd *rand.Rand) []routed {
	var done []routed
	for _, n := range f.next {
		done = append(done, routed{node: n})
	}
	for _, s := range f.sends {
		done = append(done, routed{node: s.node})
	}
	for i := range done {
		for rnd.IntN(4) == 0 {
			done[i].targets = append(done[i].targets, p.Nodes[rnd.IntN(len(p.Nodes))])
		}
		for rnd.IntN(6) == 0 {
			done[i].sends = append(done[i].sends, sentTask{node: p.Nodes[rnd.IntN(len(p.Nodes))]})
		}
	}
	return done
}

func TestNextFrontierLeavesJoinsWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan  []string
		steps []string // the tasks of each superstep
		want  []WaitingJoin
	}{
		"no source has completed": {
			[]string{"a", "b", "c", "j", "a+b>j"},
			[]string{"c"},
			nil,
		},
		"some sources have completed": {
			[]string{"a", "b", "c", "j", "a+b+c>j"},
			[]string{"b"},
			[]WaitingJoin{{Target: "j", Arrived: []string{"b"}, Awaiting: []string{"a", "c"}}},
		},
		"each join waits for its own sources": {
			[]string{"a", "b", "c", "j", "a+b>j", "b+c>j"},
			[]string{"a b"},
			[]WaitingJoin{{Target: "j", Arrived: []string{"b"}, Awaiting: []string{"c"}}},
		},
		"the target has become due": {
			[]string{"a", "b", "j", "a+b>j"},
			[]string{"a b"},
			nil,
		},
		"a source completes together with the target": {
			[]string{"a", "b", "j", "a+b>j"},
			[]string{"a b", "a j"},
			[]WaitingJoin{{Target: "j", Arrived: []string{"a"}, Awaiting: []string{"b"}}},
		},
		"the target is deferred and waits for other work": {
			[]string{"a", "b", "c>c", "!j", "a+b>j"},
			[]string{"a b c", "a c"},
			nil,
		},
		"a source completed again while the deferred target waited": {
			[]string{"a", "b", "c>a", "!j", "a+b>j"},
			[]string{"a b c", "a"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlan(t, c.plan...)
			var f frontier
			for _, tasks := range c.steps {
				f = nextFrontier(p, &f, completed(p, tasks))
			}
			assert.Equal(t, c.want, p.waitingJoins(&f))
		})
	}
}

// TestNextFrontierKeepsJoinsOfTheFrontierBefore proves that a frontier that resets a join
// shares no memory with the frontier before it.
func TestNextFrontierKeepsJoinsOfTheFrontierBefore(t *testing.T) {
	t.Parallel()
	p := newPlan(t, "a", "b", "c>c", "!j", "a+b>j")
	before := nextFrontier(p, &frontier{}, completed(p, "a b c"))
	require.Equal(t, [][]bool{{true, true}}, before.arrived, "the deferred target waits")

	f := nextFrontier(p, &before, completed(p, "b>c")) // more work: the join is still complete
	require.Equal(t, [][]bool{{true, true}}, f.arrived)
	f = nextFrontier(p, &before, completed(p, "b")) // no more work: the target is due
	require.Equal(t, "j", dueTasks(&f))
	assert.Equal(t, [][]bool{nil}, f.arrived)
	assert.Equal(t, [][]bool{{true, true}}, before.arrived)
	assert.Equal(t, []string{"j"}, nodeNames(before.waiting))
}
