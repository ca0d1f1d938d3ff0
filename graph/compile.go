package graph

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// Options configures a compiled graph. Its zero value works: nothing is kept
// beyond a run.
type Options struct {
	// Checkpoints keeps the graph's threads. Nil means that runs have no
	// thread and can not pause. A subgraph uses the store of its parent.
	Checkpoints checkpoint.Store
	// Durability says when a step is stored.
	Durability Durability
	// PauseBefore and PauseAfter name nodes: a run stops before a superstep, or
	// after one, that has one of them. The next run goes on.
	PauseBefore, PauseAfter []string
	// MaxSteps is how many supersteps a run may take. Zero means 100.
	MaxSteps int
	// MaxParallel is how many tasks of a superstep may run at once. Zero means
	// all of them.
	MaxParallel int
	// Version is written to every checkpoint, for who looks at old ones.
	Version string
	// Logger is told what a caller can not be told by an error, such as stored
	// channels that the graph no longer has. Nil means silence.
	Logger *slog.Logger
}

// Durability says when the steps of a run are stored.
type Durability uint8

const (
	// Sync stores a step before the next one starts. A crash loses nothing that
	// was seen to happen.
	Sync Durability = iota
	// Async stores a step while the next one runs, in order and at most one
	// behind. A crash may lose the last step.
	Async
	// Exit stores once, when the run ends, pauses or fails; and what a persistent
	// subgraph remembers when the run calls it again. A crash loses the run.
	Exit
)

func (d Durability) String() string {
	switch d {
	case Sync:
		return "sync"
	case Async:
		return "async"
	case Exit:
		return "exit"
	}
	return fmt.Sprintf("durability(%d)", uint8(d))
}

const defaultMaxSteps = 100

// A Graph is compiled and immutable. It may run any number of threads at once.
type Graph struct {
	name     string
	schema   *state.Schema
	empty    state.View
	start    *node
	nodes    []*node // by name
	byName   map[string]*node
	joins    []join
	exits    []join // joins to End, which make nothing due; for Describe
	opts     Options
	standard RunOptions // of a run that gives none
	exact    bool       // a branch of a lone task needs an overlay, too
	memory   string     // the name of a persistent subgraph's memory
	locks    *threadLocks
	describe []state.Description
	desks    *desks
}

// Name returns the name that the graph was built with.
func (g *Graph) Name() string { return g.name }

// Persist returns g as a subgraph that remembers: its own channels keep their
// values from one call to the next on a thread, under the given name. Two tasks
// of a superstep can not use one memory.
func (g *Graph) Persist(memory string) *Graph {
	c := *g
	c.memory = memory
	return &c
}

// Compile checks the graph and makes it ready to run. Its error joins every
// mistake, each a [BuildError].
func (b *Builder) Compile(opts Options) (*Graph, error) {
	errs := slices.Clone(b.errs)
	schema, err := state.NewSchema(b.channels...)
	if err != nil {
		errs = append(errs, &BuildError{Graph: b.name, Err: err})
	}
	c := &compiler{b: b, opts: opts, schema: schema, errs: errs}
	c.checkNodes()
	c.checkJoins()
	c.checkReach()
	c.checkOptions()
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return c.graph(), nil
}

type compiler struct {
	b      *Builder
	opts   Options
	schema *state.Schema
	errs   []error
}

func (c *compiler) fail(node, format string, args ...any) {
	c.errs = append(c.errs, &BuildError{Graph: c.b.name, Node: node, Err: fmt.Errorf(format, args...)})
}

func (c *compiler) known(name string) bool {
	n := c.b.nodes[name]
	return n != nil && n.declared
}

func (c *compiler) checkNodes() {
	for _, name := range slices.Sorted(maps.Keys(c.b.nodes)) {
		n := c.b.nodes[name]
		if name != Start && !c.known(name) {
			c.fail(name, "%w, yet an edge, branch or Defer names it", ErrUnknownNode)
		}
		if name == Start && len(n.edges)+len(n.branches) == 0 {
			c.fail("", "nothing leads from Start: the graph has no entry")
		}
		c.checkTargets(n, n.edges, "an edge")
		c.checkTargets(n, n.routes, "its routes")
		for _, br := range n.branches {
			if len(br.targets) == 0 {
				c.fail(name, "a branch names no target")
			}
			c.checkTargets(n, br.targets, "a branch")
		}
		if len(n.edges) > 0 && len(n.branches)+len(n.routes) > 0 && !n.both && name != Start {
			c.fail(name, "it has an edge, which always fires, and a branch or routes beside it; say Both(%q) if that is meant", name)
		}
		c.checkSubgraph(n)
	}
}

func (c *compiler) checkTargets(n *node, targets []string, what string) {
	for _, to := range targets {
		if to != End && !c.known(to) {
			c.fail(n.name, "%s leads to %q: %w", what, to, ErrUnknownNode)
		}
	}
}

func (c *compiler) checkSubgraph(n *node) {
	if n.sub == nil {
		return
	}
	for _, name := range n.sub.schema.Conflicts(c.schema) {
		c.fail(n.name, "the subgraph and the graph each have a channel %q of their own; share one handle, or rename one", name)
	}
}

func (c *compiler) checkJoins() {
	for _, j := range c.b.joins {
		if j.target != End && !c.known(j.target) {
			c.fail(j.target, "a join leads to it: %w", ErrUnknownNode)
		}
		if len(j.sources) == 0 {
			c.fail(j.target, "a join without sources can never fire")
		}
		for _, s := range j.sources {
			if s == Start {
				c.fail(j.target, "a join waits for Start, which is no node; use Edge")
			} else if !c.known(s) {
				c.fail(j.target, "a join waits for %q and can never fire: %w", s, ErrUnknownNode)
			}
		}
	}
}

// checkReach finds nodes that nothing leads to, and joins that wait for them.
func (c *compiler) checkReach() {
	reached := c.reach()
	for _, name := range slices.Sorted(maps.Keys(c.b.nodes)) {
		if c.known(name) && !reached[name] {
			c.fail(name, "nothing leads to it from Start; if only a caller's Goto does, say Routes(Start, %q)", name)
		}
	}
	for _, j := range c.b.joins {
		for _, s := range j.sources {
			if c.known(s) && !reached[s] {
				c.fail(j.target, "its join can never fire: nothing leads to %q", s)
			}
		}
	}
}

// reach returns the nodes that something leads to from Start. A join counts
// when each of its sources is reached.
func (c *compiler) reach() map[string]bool {
	reached := map[string]bool{Start: true}
	for grown := true; grown; {
		grown = false
		visit := func(to string) {
			if to != End && !reached[to] {
				reached[to], grown = true, true
			}
		}
		for name, n := range c.b.nodes {
			if reached[name] {
				n.eachTarget(visit)
			}
		}
		for _, j := range c.b.joins {
			if len(j.sources) > 0 && !slices.ContainsFunc(j.sources, func(s string) bool { return !reached[s] }) {
				visit(j.target)
			}
		}
	}
	return reached
}

func (n *node) eachTarget(visit func(string)) {
	for _, to := range n.edges {
		visit(to)
	}
	for _, to := range n.routes {
		visit(to)
	}
	for _, br := range n.branches {
		for _, to := range br.targets {
			visit(to)
		}
	}
}

func (c *compiler) checkOptions() {
	o := c.opts
	for _, name := range slices.Concat(o.PauseBefore, o.PauseAfter) {
		if name != AllNodes && !c.known(name) {
			c.fail(name, "a pause names it: %w", ErrUnknownNode)
		}
	}
	if o.MaxSteps < 0 || o.MaxParallel < 0 {
		c.fail("", "MaxSteps and MaxParallel can not be negative")
	}
	if v := reflect.ValueOf(o.Checkpoints); v.Kind() == reflect.Pointer && v.IsNil() {
		c.fail("", "Checkpoints is a nil %T", o.Checkpoints)
	}
	if o.Durability > Exit {
		c.fail("", "unknown %s", o.Durability)
	}
}

func (c *compiler) graph() *Graph {
	g := &Graph{
		name: c.b.name, schema: c.schema, empty: c.schema.Empty(), byName: map[string]*node{},
		opts: c.opts, locks: newThreadLocks(), describe: c.schema.Describe(),
	}
	g.standard = g.fillIn(RunOptions{})
	g.desks = newDesks(g.schema, g.empty)
	for _, name := range slices.Sorted(maps.Keys(c.b.nodes)) {
		n := *c.b.nodes[name] // the builder may go on
		n.edges, n.branches, n.routes = slices.Clone(n.edges), slices.Clone(n.branches), slices.Clone(n.routes)
		slices.Sort(n.edges)
		n.edges = slices.Compact(n.edges)
		n.alone, n.by, n.ids = []*node{&n}, []string{name}, []string{name}
		n.due = `{"next":["` + name + `"]`
		if name == Start {
			g.start = &n
			continue
		}
		n.index = len(g.nodes)
		g.nodes = append(g.nodes, &n)
		g.byName[name] = &n
	}
	for _, n := range append([]*node{g.start}, g.nodes...) {
		for _, to := range n.edges {
			if to != End {
				n.to = append(n.to, g.byName[to])
			}
		}
		for i := range n.branches {
			b := &n.branches[i]
			b.leads = make([]*node, len(b.targets))
			for k, to := range b.targets {
				b.leads[k] = g.byName[to]
			}
		}
	}
	for _, j := range c.b.joins {
		sources := slices.Clone(j.sources)
		slices.Sort(sources)
		made := join{target: j.target, sources: slices.Compact(sources)}
		if j.target == End {
			g.exits = append(g.exits, made)
		} else {
			g.joins = append(g.joins, made)
		}
	}
	for _, d := range g.describe {
		g.exact = g.exact || d.Kind == "ephemeral"
	}
	return g
}
