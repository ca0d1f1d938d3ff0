package engine

import (
	"fmt"
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

// completed returns tasks that completed. A task is written as "node", with the targets
// that it chose behind ">", and those that it sent to behind "*".
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
		ids = append(ids, taskID(s.node.Name, i+1))
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

// A reference is nextFrontier, written with maps.
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
		due = append(due, taskID(name, i+1))
	}
	return due
}

func TestNextFrontierIsThatOfTheReference(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv("WEFT_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("WEFT_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
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
			f = nextFrontier(p, &f, done)
			require.Equal(t, strings.Join(r.next(done), " "), dueTasks(&f), "superstep %d", step+1)
		}
	}
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

// randomResults returns the results of the tasks that are due, with some targets.
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
