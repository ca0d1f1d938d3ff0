package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// Start and End are the two ends of every graph. An edge from Start leads to an
// entry. An edge to End leads nowhere, and says that this is intended.
const (
	Start = engine.Start
	End   = engine.End

	// AllNodes stands for every node in [Options.PauseBefore] and [Options.PauseAfter].
	AllNodes = engine.AllNodes
)

// A NodeFunc is a step of a graph. It sees the state as it was when the superstep
// began, and returns what it changes. Its context ends with the run, and carries
// what [Emit], [Once] and [Interrupt.Wait] need. A NodeFunc runs at the same time
// as others, and in many threads at once.
type NodeFunc func(ctx context.Context, s state.View) (state.Update, error)

// Middleware wraps a node with behaviour that many nodes share, such as tracing. It
// is called when the graph is compiled, once for each node, and returns the function
// that runs instead, which may call next any number of times. The context that it
// gives to next must be derived from its own. [FromContext] says which node it is.
// [Options] has middleware for all nodes of a graph; package
// [github.com/weft-go/weft/graph/node] has decorators for single nodes.
type Middleware func(next NodeFunc) NodeFunc

// A Builder collects the nodes and edges of a graph. Its methods report no errors;
// [Builder.Compile] reports every mistake together. One goroutine uses it.
type Builder struct {
	name     string
	channels []state.Handle
	nodes    map[string]*nodeSpec
	joins    []engine.Join
	errs     []error
}

// A nodeSpec is what a builder knows of a node.
type nodeSpec struct {
	name         string
	declared     bool
	run          NodeFunc
	sub          *Graph
	subOptions   SubgraphOptions
	edges        []string
	branches     []engine.Branch
	destinations []string
	mixed        bool // edges beside branches are intended
	deferred     bool
}

// New returns a builder for a graph with this name, over these channels. Every
// channel that a node reads or writes must be among them.
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
		b.fail(name, "its function is nil; pass Node, and every decorator around the function, a function that is not")
	}
	n.run = fn
}

// Subgraph adds a node that runs another graph. The two graphs share the channels
// that both declare: the subgraph begins with their values, and what it writes to
// them becomes the node's update. Its other channels are its own, and begin empty
// with each call. The subgraph can pause, fail and resume inside the node; with a
// thread its checkpoints have a namespace of their own. See [Builder.SubgraphWith]
// for more.
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
// channels that both graphs declare, and remembers nothing.
type SubgraphOptions struct {
	// Persist, if not empty, makes the subgraph keep its own channels from one call
	// to the next on a thread, under this name. Two tasks of one superstep cannot
	// use one name.
	Persist string
	// Input returns writes to the subgraph's own channels, made of the state that the
	// node sees. It maps channels of the parent to other channels of the subgraph. It
	// runs once for each call: a run that resumes in the subgraph, in another process
	// too, does not run it again. A write to a shared channel is an [ErrSignal].
	Input func(parent state.View) (state.Update, error)
	// Output returns writes to the parent's channels, made of the state in which the
	// subgraph ends. The node's update has them after those to the shared channels. It
	// may return [Goto] and [Send] as a node may. If Input or Output returns an error,
	// the node fails.
	Output func(sub state.View) (state.Update, error)
	// Middleware wraps the node, the first one outermost, inside that of [Options]. A
	// decorator such as node.Retry becomes middleware with a function around it. When
	// it calls next again, the subgraph resumes where it failed.
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

// checkName keeps names usable in task ids and namespaces.
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

// Edge schedules to whenever from has completed.
func (b *Builder) Edge(from, to string) {
	n := b.node(from)
	n.edges = append(n.edges, to)
}

// Join schedules to once every source has completed since the join last fired. A
// source that completes several times until then, in one superstep or in several,
// counts once. A deferred target fires when no other work remains. A join to [End]
// schedules nothing, like an Edge to it.
func (b *Builder) Join(to string, sources ...string) {
	b.joins = append(b.joins, engine.Join{Target: to, Sources: sources})
}

// Defer makes a node that edges lead to wait until no other work remains. A [Send]
// to it does not wait.
func (b *Builder) Defer(name string) { b.node(name).deferred = true }

// Branch lets a function choose one of the targets after from has completed. The
// function sees the state with the update of from, and without those of other nodes
// in the superstep. It must be pure: a choice that needs a context is made by a
// node that returns [Goto]. If it returns an error, from fails with it; after
// [Start], the run fails before its input is stored.
func (b *Builder) Branch(from string, choose func(state.View) (string, error), targets ...string) {
	if choose == nil {
		b.fail(from, "its branch has no function")
		return
	}
	n := b.node(from)
	n.branches = append(n.branches, engine.Branch{One: protectBranch(choose), Targets: targets})
}

// BranchMany is [Builder.Branch] for several targets or none: the function returns
// any number of [Goto] and [Send] to the targets.
func (b *Builder) BranchMany(from string, choose func(state.View) (state.Update, error), targets ...string) {
	if choose == nil {
		b.fail(from, "its branch has no function")
		return
	}
	n := b.node(from)
	n.branches = append(n.branches, engine.Branch{Many: protectBranch(choose), Targets: targets})
}

// protectBranch returns a panic of a branch function as its error.
func protectBranch[T any](choose func(state.View) (T, error)) func(state.View) (T, error) {
	return func(v state.View) (chosen T, err error) {
		defer recoverPanic(&err)
		return choose(v)
	}
}

// Destinations declares the targets that a node's own [Goto] and [Send] may have.
// For [Start] it declares nodes that only a caller's Goto or Update leads to.
func (b *Builder) Destinations(from string, targets ...string) {
	n := b.node(from)
	n.destinations = append(n.destinations, targets...)
}

// AllowEdgesAndBranches says that a node is intended to have both edges, which
// always fire, and branches or destinations beside them. Without it, Compile
// reports a mistake.
func (b *Builder) AllowEdgesAndBranches(name string) { b.node(name).mixed = true }
