package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/state"
)

// Start and End are the two ends of every graph. An edge from Start leads to
// an entry; an edge to End leads nowhere, and says that this is meant.
const (
	Start = "__start__"
	End   = "__end__"
)

// A NodeFunc is a step of a graph. It sees the state as it was when the
// superstep began, and returns what it changes. Its context ends with the run;
// it carries what [Emit], [Once] and [Interrupt.Wait] need. A NodeFunc runs at
// the same time as others and in many threads at once.
type NodeFunc func(ctx context.Context, s state.View) (state.Update, error)

// A Builder collects a graph. Its methods only note; [Builder.Compile] reports
// every mistake together. It is used by one goroutine.
type Builder struct {
	name     string
	channels []state.Handle
	nodes    map[string]*node
	joins    []join
	errs     []error
}

type node struct {
	name     string
	declared bool // also when what it is to run is nil
	index    int  // by name
	run      NodeFunc
	sub      *Graph
	edges    []string
	branches []branch
	routes   []string
	both     bool
	deferred bool
	to       []*node  // where the edges lead, without End; set by Compile
	alone    []*node  // itself, as a frontier
	by       []string // its name, as a frontier's
	ids      []string // its name, as the ids of a superstep's tasks
	due      string   // the beginning of a stored frontier of it alone
}

// branch chooses what follows a node: one target, or any.
type branch struct {
	choose  func(state.View) string
	route   func(state.View) state.Update
	targets []string
	leads   []*node // the targets, nil for End; set by Compile
}

type join struct {
	target  string
	sources []string
}

// New begins a graph of that name over channels. Every channel that a node
// reads or writes must be among them.
func New(name string, channels ...state.Handle) *Builder {
	b := &Builder{name: name, channels: channels, nodes: map[string]*node{}}
	b.nodes[Start] = &node{name: Start}
	return b
}

func (b *Builder) fail(node, format string, args ...any) {
	b.errs = append(b.errs, &BuildError{Graph: b.name, Node: node, Err: fmt.Errorf(format, args...)})
}

// at returns the node of that name, declared or not yet.
func (b *Builder) at(name string) *node {
	n := b.nodes[name]
	if n == nil {
		n = &node{name: name}
		b.nodes[name] = n
	}
	return n
}

// Node adds a node. Middleware such as [Retry] and [Timeout] wraps fn; around
// nil, or without what it requires, it is nil itself, which Compile reports.
func (b *Builder) Node(name string, fn NodeFunc) {
	n := b.declare(name)
	if fn == nil {
		b.fail(name, "the function is nil: Node was not given one, or its middleware was not, or Cache has no Key")
	}
	n.run = fn
}

// Subgraph adds a node that runs another graph. The two share the channels that
// both declare: the subgraph begins with the values that its task sees, and
// what it writes to them becomes the node's update. Its other channels are its
// own and begin empty at each call, unless g is from [Graph.Persist]. It pauses,
// fails and goes on inside; with a thread its checkpoints are kept in a
// namespace of their own.
func (b *Builder) Subgraph(name string, g *Graph) {
	n := b.declare(name)
	if g == nil {
		b.fail(name, "the subgraph is nil")
		return
	}
	n.sub = g
}

func (b *Builder) declare(name string) *node {
	n := b.at(name)
	if n.declared {
		b.fail(name, "two nodes have this name")
	}
	n.declared = true
	if err := checkName(name); err != nil {
		b.fail(name, "%w", err)
	}
	return n
}

// checkName keeps names fit for task ids and namespaces.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("a node needs a name")
	}
	if name == Start || name == End {
		return fmt.Errorf("the name is reserved")
	}
	for _, r := range name {
		switch {
		case r < 0x20, r == 0x7f, r == 0xfffd:
			return fmt.Errorf("the name holds a control character or is not UTF-8")
		case r == '[', r == ']', r == '/', r == '@', r == '"', r == '\\', r == '~':
			return fmt.Errorf("the name holds %q; names do without [ ] / @ ~ \" and \\", r)
		}
	}
	return nil
}

// Edge makes to due whenever from has run.
func (b *Builder) Edge(from, to string) {
	n := b.at(from)
	n.edges = append(n.edges, to)
}

// Join makes to due when every one of the sources has run since this join last
// did so. However often a source runs until then, in one superstep or in several,
// it counts once. To a deferred target that is until nothing else is left to run.
// A join to [End] makes nothing due, as an Edge to it does.
func (b *Builder) Join(to string, sources ...string) {
	b.joins = append(b.joins, join{target: to, sources: sources})
}

// Defer makes a node that edges lead to wait until nothing else is left to
// run. A [Send] to it does not wait.
func (b *Builder) Defer(name string) { b.at(name).deferred = true }

// Branch lets a function choose one of the targets after from has run. The
// function sees the state with from's own update applied, and not that of its
// siblings. It must be pure: what needs a context or may fail is a node that
// returns [Goto].
func (b *Builder) Branch(from string, route func(state.View) string, targets ...string) {
	if route == nil {
		b.fail(from, "the branch has no function")
		return
	}
	n := b.at(from)
	n.branches = append(n.branches, branch{choose: route, targets: targets})
}

// Dispatch is a [Builder.Branch] that may choose several targets or none: its
// function returns any number of [Goto] and [Send], to the targets given here.
func (b *Builder) Dispatch(from string, route func(state.View) state.Update, targets ...string) {
	if route == nil {
		b.fail(from, "the branch has no function")
		return
	}
	n := b.at(from)
	n.branches = append(n.branches, branch{route: route, targets: targets})
}

// Routes declares where a node's own [Goto] and [Send] may lead. From [Start]
// it declares nodes that only a caller's Goto or Update leads to.
func (b *Builder) Routes(from string, targets ...string) {
	n := b.at(from)
	n.routes = append(n.routes, targets...)
}

// Both says that a node is meant to have both edges, which always fire, and
// branches or routes beside them. Without it that is a mistake.
func (b *Builder) Both(name string) { b.at(name).both = true }
