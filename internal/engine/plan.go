package engine

import (
	"context"
	"slices"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// Start and End are the two ends of every graph.
const (
	Start = "__start__"
	End   = "__end__"
)

// AllNodes stands for every node in a list of static pauses.
const AllNodes = "*"

// A Func is the function of a node.
type Func func(ctx context.Context, v state.View) (state.Update, error)

// Protect returns a function whose panics are errors. Package graph sets it, since
// users see the errors.
var Protect func(fn Func) Func

// A Plan is a compiled graph. It is immutable after [Plan.Link].
type Plan struct {
	Name    string
	Schema  *statecore.Schema
	Start   *Node
	Nodes   []*Node // sorted by name
	Joins   []Join  // without joins to End, which schedule nothing
	Renamed map[string]string
	// Wrap returns the function of a node with the middleware of the graph that
	// was started around it. Nil means none.
	Wrap func(n *Node) Func

	byName   map[string]*Node
	previous map[string][]string // former names, by name
	empty    state.View
	// branchNeedsOverlay says that a branch cannot read the state after the
	// superstep, because the commit clears ephemeral channels.
	branchNeedsOverlay bool
}

// A Node is a step of a graph.
type Node struct {
	Name string
	// Run is nil for Start only.
	Run Func
	// Subgraph is the graph that Run calls; nil if the node is a function.
	Subgraph *Subgraph
	// Edges are the targets of static edges, sorted.
	Edges    []string
	Branches []Branch
	// Destinations are the targets that the node's own Goto and Send may have.
	Destinations []string
	// Deferred says that the node waits until no other work remains.
	Deferred bool

	index int
	next  []*Node  // the targets of edges, without End
	self  []*Node  // the node alone
	names []string // its name alone
}

// A Branch chooses the targets that follow a node. Exactly one of One and Many
// is set.
type Branch struct {
	One     func(v state.View) (string, error)
	Many    func(v state.View) (state.Update, error)
	Targets []string
}

// A Join schedules its target once every source has completed.
type Join struct {
	Target  string
	Sources []string // sorted, without duplicates
}

// A Subgraph is a graph that a node runs.
type Subgraph struct {
	Plan *Plan
	// Options are those that the graph was compiled with.
	Options *Options
	// Persist, if not empty, is the name under which the subgraph keeps its
	// channels from one call to the next.
	Persist string
	// Input returns writes for the subgraph beside the shared channels. Output
	// returns writes of the node beside them. Nil means none.
	Input, Output func(v state.View) (state.Update, error)
}

// Link resolves the names of a plan. It is called once, when the plan is complete.
func (p *Plan) Link() {
	p.byName = map[string]*Node{}
	p.empty = p.Schema.Empty()
	p.branchNeedsOverlay = p.Schema.HasEphemeral()
	for i, n := range p.Nodes {
		n.index = i
		p.byName[n.Name] = n
	}
	for _, n := range append([]*Node{p.Start}, p.Nodes...) {
		n.self, n.names = []*Node{n}, []string{n.Name}
		for _, to := range n.Edges {
			if to != End {
				n.next = append(n.next, p.byName[to])
			}
		}
	}
	p.previous = map[string][]string{}
	for old, now := range p.Renamed {
		p.previous[now] = append(p.previous[now], old)
		slices.Sort(p.previous[now])
	}
}

// Node returns the node of this name, or nil.
func (p *Plan) Node(name string) *Node { return p.byName[name] }

// cycle returns the nodes of a shortest cycle of static edges through n, which is
// the first and the last of them. It returns nil if there is none.
func (n *Node) cycle() []string {
	before := map[*Node]*Node{}
	for queue := []*Node{n}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, to := range at.next {
			if to == n {
				names := []string{n.Name}
				for ; at != nil; at = before[at] {
					names = append(names, at.Name)
				}
				slices.Reverse(names)
				return names
			}
			if before[to] == nil {
				before[to] = at
				queue = append(queue, to)
			}
		}
	}
	return nil
}

// Empty returns the state in which every channel is absent.
func (p *Plan) Empty() state.View { return p.empty }

// current returns the name that a stored node name has now.
func (p *Plan) current(stored string) string {
	if now, ok := p.Renamed[stored]; ok {
		return now
	}
	return stored
}

// nodeNames returns the names of nodes; nil for none.
func nodeNames(nodes []*Node) []string {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Name
	}
	return out
}
