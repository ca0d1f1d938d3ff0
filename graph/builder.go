package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// Start and End are the two ends of every graph. An edge from Start leads to an
// entry node. An edge to End schedules nothing: it states that the node may be the
// last one.
const (
	Start = engine.Start
	End   = engine.End

	// AllNodes stands for every node in [Options.PauseBefore] and [Options.PauseAfter].
	AllNodes = engine.AllNodes
)

// A NodeFunc is a step of a graph. It sees the state as it was when the superstep
// began, and returns its writes. Its context ends with the run, and must be passed
// to [Emit], [Once] and [Interrupt.Wait]. Node functions are called concurrently,
// within one superstep and for several threads.
type NodeFunc func(ctx context.Context, s state.View) (state.Update, error)

// Middleware wraps a node with behaviour that many nodes share, such as tracing. It
// is called when the graph is compiled, once for each node, and returns the function
// that runs instead of the node. That function may call next any number of times,
// with its own context or one derived from it. [FromContext] returns the name of the
// node. [Options] has middleware for all nodes of a graph; package
// [github.com/weft-go/weft/graph/node] has decorators for single nodes.
type Middleware func(next NodeFunc) NodeFunc

// A Builder collects the nodes and edges of a graph. Its methods report no errors;
// [Builder.Compile] reports every mistake together. It is not safe for concurrent
// use.
type Builder struct {
	name     string
	channels []state.Handle
	nodes    map[string]*nodeSpec
	joins    []engine.Join
	errs     []error
}

// A nodeSpec collects the declarations of one node.
type nodeSpec struct {
	name         string
	declared     bool
	run          NodeFunc
	sub          *Graph
	subOptions   SubgraphOptions
	edges        []string
	branches     []engine.Branch
	destinations []string
	mixed        bool // AllowEdgesAndBranches was called
	deferred     bool
}

// New returns a builder for a graph with this name and these channels. Every
// channel that a node reads or writes must be among them. The name appears in errors,
// logs and traces. It need not be unique, and may be empty.
func New(name string, channels ...state.Handle) *Builder {
	b := &Builder{name: name, channels: channels, nodes: map[string]*nodeSpec{}}
	b.nodes[Start] = &nodeSpec{name: Start}
	return b
}

func (b *Builder) fail(node, format string, args ...any) {
	b.errs = append(b.errs, &BuildError{Graph: b.name, Node: node, Err: fmt.Errorf(format, args...)})
}

// node returns the node with this name, declared or not yet.
func (b *Builder) node(name string) *nodeSpec {
	n := b.nodes[name]
	if n == nil {
		n = &nodeSpec{name: name}
		b.nodes[name] = n
	}
	return n
}

// Node adds a node. Decorators such as node.Retry and node.Timeout wrap fn.
func (b *Builder) Node(name string, fn NodeFunc) {
	n := b.declare(name)
	if fn == nil {
		b.fail(name, "its function is nil, or a decorator around it was given a nil function")
	}
	n.run = fn
}

// Subgraph adds a node that runs another graph. The two graphs share the channels
// that both declare: the subgraph begins with their values, and its writes to them
// become the node's update. The subgraph's other channels are private and begin
// empty at each call. The subgraph can pause, fail and resume inside the node. In a
// thread, its checkpoints are stored in a separate namespace. [Builder.SubgraphWith]
// has options.
func (b *Builder) Subgraph(name string, g *Graph) { b.SubgraphWith(name, g, SubgraphOptions{}) }

// SubgraphWith is [Builder.Subgraph] with options.
func (b *Builder) SubgraphWith(name string, g *Graph, o SubgraphOptions) {
	n := b.declare(name)
	if g == nil {
		b.fail(name, "the subgraph is nil; check the error of its Compile")
		return
	}
	n.sub, n.subOptions = g, o
}

// SubgraphOptions configures a node that runs a graph. The zero value shares the
// channels that both graphs declare, and keeps nothing between calls.
type SubgraphOptions struct {
	// Persist, if not empty, makes the subgraph keep its private channels from one
	// call to the next in a thread. They are stored under this name. Two tasks of one
	// superstep cannot use the same name.
	Persist string
	// Private has channels of the subgraph that it does not share with its parent. The parent may
	// declare the same channel, or another channel with the same name. A private channel begins
	// empty, or with Persist as the last call left it. Writes to it do not reach the parent.
	// Channels that the subgraph does not declare are ignored.
	Private []state.Handle
	// Input maps channels of the parent to private channels of the subgraph: it
	// returns writes computed from the state that the node sees. It runs once for each
	// call. A run that resumes in the subgraph does not run it again, not even in
	// another process. A write to a shared channel is an [ErrSignal].
	Input func(parent state.View) (state.Update, error)
	// Output returns writes to the parent's channels, computed from the state that the
	// node sees and the final state of the subgraph. In the node's update they follow
	// the writes to the shared channels. Output may return [Goto] and [Send] like a
	// node. If Input or Output returns an error, the node fails.
	Output func(parent, sub state.View) (state.Update, error)
	// Middleware wraps the node, the first one outermost, inside the middleware of
	// [Options]. A function that calls a decorator such as node.Retry is middleware.
	// When it calls next again, the subgraph resumes where it failed.
	Middleware []Middleware
}

func (b *Builder) declare(name string) *nodeSpec {
	n := b.node(name)
	if n.declared {
		b.fail(name, "two nodes have this name")
	}
	n.declared = true
	if err := checkName(name); err != nil {
		b.fail(name, "%w", err)
	}
	return n
}

// checkName returns an error for a name that cannot be part of a task id or a
// namespace.
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
			return fmt.Errorf("the name has a control character or is not UTF-8")
		case slices.Contains([]rune{'[', ']', '/', '@', '"', '\\', '~'}, r):
			return fmt.Errorf("the name has %q; a name cannot have any of [ ] / @ ~ \" \\", r)
		}
	}
	return nil
}

// Edge schedules a target node (to) whenever a source node (from) has completed.
func (b *Builder) Edge(from, to string) {
	n := b.node(from)
	n.edges = append(n.edges, to)
}

// Join schedules a target node (to) when all sources have completed. Then the join
// begins again: it fires the next time when every source has completed once more. A
// source that completes several times before the join fires counts once. A deferred
// target runs when no other work remains. Like an edge to [End], a join to [End]
// schedules nothing. If a branch leaves a source out, the target does not run:
// [Snapshot.Waiting] and the logger name such a join.
func (b *Builder) Join(to string, sources ...string) {
	b.joins = append(b.joins, engine.Join{Target: to, Sources: sources})
}

// Defer makes a node wait until no other work remains, when an edge, branch or join
// has scheduled it. A [Send] to the node does not wait.
func (b *Builder) Defer(name string) { b.node(name).deferred = true }

// Branch lets a function choose one of the targets after from has completed. The
// function sees the state with the update of from, and without the updates of other
// nodes in the superstep. It must be pure: for a choice that needs a context, return
// [Goto] from the node. If the function returns an error, the node fails with it.
// An error of a branch after [Start] fails the run before its input is stored.
func (b *Builder) Branch(from string, choose func(state.View) (string, error), targets ...string) {
	if choose == nil {
		b.fail(from, "the function of its branch is nil")
		return
	}
	n := b.node(from)
	n.branches = append(n.branches, engine.Branch{One: protectBranch(choose), Targets: targets})
}

// BranchMany is [Builder.Branch] for several targets or none: the function returns
// any number of [Goto] and [Send] to the targets.
func (b *Builder) BranchMany(from string, choose func(state.View) (state.Update, error), targets ...string) {
	if choose == nil {
		b.fail(from, "the function of its branch is nil")
		return
	}
	n := b.node(from)
	n.branches = append(n.branches, engine.Branch{Many: protectBranch(choose), Targets: targets})
}

// protectBranch returns a function that returns a panic of choose as an error.
func protectBranch[T any](choose func(state.View) (T, error)) func(state.View) (T, error) {
	return func(v state.View) (chosen T, err error) {
		defer recoverPanic(&err)
		return choose(v)
	}
}

// Destinations declares the allowed targets of the [Goto] and [Send] that a node
// returns. For [Start] it declares nodes that no edge leads to, and that a caller
// schedules with Goto or Update. [End] is always allowed; if it is a target here, drawings
// have an edge to it.
func (b *Builder) Destinations(from string, targets ...string) {
	n := b.node(from)
	n.destinations = append(n.destinations, targets...)
}

// AllowEdgesAndBranches allows a node to have both edges, which always fire, and
// branches or destinations. Without it, Compile reports a mistake.
func (b *Builder) AllowEdgesAndBranches(name string) { b.node(name).mixed = true }
