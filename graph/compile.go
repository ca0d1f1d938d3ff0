package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/internal/suggest"
	"github.com/weft-go/weft/state"
)

// Compile checks the graph and makes it ready to run. Its error joins every
// mistake, each a [BuildError].
func (b *Builder) Compile(opts Options) (*Graph, error) {
	if isNilPointer(opts.Logger) { // a nil *slog.Logger logs nothing
		opts.Logger = nil
	}
	c := &compiler{b: b, opts: opts, errs: slices.Clone(b.errs)}
	schema, err := statecore.NewSchema(b.channels...)
	if err != nil {
		c.errs = append(c.errs, &BuildError{Graph: b.name, Err: err})
	}
	c.schema = schema
	c.checkNodes()
	c.checkJoins()
	if !c.misspelt { // a misspelt target would make other nodes look unreachable
		c.checkReach()
	}
	c.checkOptions()
	c.checkMigrations()
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	g := c.graph()
	if len(c.errs) > 0 { // middleware that returned a nil function
		return nil, errors.Join(c.errs...)
	}
	return g, nil
}

type compiler struct {
	b      *Builder
	opts   Options
	schema *statecore.Schema
	errs   []error
	// misspelt says that an edge, branch or join names a node that does not exist.
	misspelt bool
}

func (c *compiler) fail(node, format string, args ...any) {
	c.errs = append(c.errs, &BuildError{Graph: c.b.name, Node: node, Err: fmt.Errorf(format, args...)})
}

func (c *compiler) known(name string) bool {
	n := c.b.nodes[name]
	return n != nil && n.declared
}

// unknown returns the error for a name that no node has. It suggests the nearest
// name.
func (c *compiler) unknown(name string) error {
	c.misspelt = true
	var names []string
	for _, known := range c.sortedNames() {
		if c.known(known) {
			names = append(names, known)
		}
	}
	return fmt.Errorf("%w%s", ErrUnknownNode, suggest.For(name, names))
}

func (c *compiler) sortedNames() []string { return slices.Sorted(maps.Keys(c.b.nodes)) }

func (c *compiler) checkNodes() {
	for _, name := range c.sortedNames() {
		n := c.b.nodes[name]
		c.checkSource(n)
		c.checkTargets(n, n.edges, "an edge")
		c.checkTargets(n, n.destinations, "a destination")
		for _, br := range n.branches {
			if len(br.Targets) == 0 {
				c.fail(name, "a branch names no target")
			}
			c.checkTargets(n, br.Targets, "a branch")
		}
		if len(n.edges) > 0 && len(n.branches)+len(n.destinations) > 0 && !n.mixed && name != Start {
			c.fail(name, "it has an edge, which always fires, and a branch or destinations beside it; if that is intended, call AllowEdgesAndBranches(%q)", name)
		}
		c.checkSubgraph(n)
	}
}

// checkSource reports a node with edges, branches or options that is not declared,
// an End with edges, and a Start without them.
func (c *compiler) checkSource(n *nodeSpec) {
	leads := len(n.edges) + len(n.branches)
	switch {
	case n.name == Start && leads == 0:
		c.fail("", "nothing leads from Start: the graph has no entry; add Edge(graph.Start, …)")
	case n.name == End && leads > 0:
		c.fail(n.name, "an edge or branch leads from End")
	case n.name == Start, n.name == End, c.known(n.name):
	case leads+len(n.destinations) > 0 || n.deferred || n.mixed:
		c.fail(n.name, "an edge, branch or option names it as a source: %w", c.unknown(n.name))
	}
}

func (c *compiler) checkTargets(n *nodeSpec, targets []string, what string) {
	for _, to := range targets {
		if to != End && !c.known(to) {
			c.fail(n.name, "%s leads to %q: %w", what, to, c.unknown(to))
		}
	}
}

func (c *compiler) checkSubgraph(n *nodeSpec) {
	if n.sub == nil {
		return
	}
	for _, name := range n.sub.plan.Schema.Conflicts(c.schema) {
		if !slices.ContainsFunc(n.subOptions.Private, func(h state.Handle) bool { return h.Name() == name }) {
			c.fail(n.name, "the subgraph and the graph each have a channel %q of their own; share one handle, rename one, or name it in SubgraphOptions.Private", name)
		}
	}
}

func (c *compiler) checkJoins() {
	for _, j := range c.b.joins {
		if j.Target != End && !c.known(j.Target) {
			c.fail(j.Target, "a join names it as its target: %w", c.unknown(j.Target))
		}
		if len(j.Sources) == 0 {
			c.fail(j.Target, "a join without sources can never fire")
		}
		for _, s := range j.Sources {
			if s == Start {
				c.fail(j.Target, "a join has Start as a source, and Start is not a node; use Edge")
			} else if !c.known(s) {
				c.fail(j.Target, "a join waits for %q and can never fire: %w", s, c.unknown(s))
			}
		}
	}
}

// checkReach finds unreachable nodes, and joins that wait for them.
func (c *compiler) checkReach() {
	reached := c.reach()
	for _, name := range c.sortedNames() {
		if c.known(name) && !reached[name] {
			c.fail(name, "nothing leads to it from Start; add an edge; if a Goto or Send of node x leads to it, Destinations(x, %[1]q); if only a caller's Goto does, Destinations(graph.Start, %[1]q)", name)
		}
	}
	for _, j := range c.b.joins {
		for _, s := range j.Sources {
			if c.known(s) && !reached[s] {
				c.fail(j.Target, "its join can never fire: nothing leads to %q", s)
			}
		}
	}
}

// reach returns the nodes that can be reached from Start. A join reaches its target
// once all its sources are reached.
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
			if len(j.Sources) > 0 && !slices.ContainsFunc(j.Sources, func(s string) bool { return !reached[s] }) {
				visit(j.Target)
			}
		}
	}
	return reached
}

func (n *nodeSpec) eachTarget(visit func(string)) {
	for _, to := range slices.Concat(n.edges, n.destinations) {
		visit(to)
	}
	for _, br := range n.branches {
		for _, to := range br.Targets {
			visit(to)
		}
	}
}

func (c *compiler) checkOptions() {
	o := c.opts
	for _, name := range slices.Concat(o.PauseBefore, o.PauseAfter) {
		if name != AllNodes && !c.known(name) {
			c.fail(name, "PauseBefore or PauseAfter names it: %w", c.unknown(name))
		}
	}
	if o.MaxSteps < 0 || o.MaxParallel < 0 {
		c.fail("", "MaxSteps and MaxParallel cannot be negative")
	}
	if isNilPointer(o.Checkpoints) {
		c.fail("", "Checkpoints is a nil %T; check the error of its constructor", o.Checkpoints)
	}
	if o.Executor != nil && o.Executor.Execute == nil {
		c.fail("", "Executor has no function Execute")
	}
	if o.Durability > Exit {
		c.fail("", "unknown %s", o.Durability)
	}
	for i, m := range o.Middleware {
		if m == nil {
			c.fail("", "Middleware %d is nil", i+1)
		}
	}
}

func isNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

func (c *compiler) checkMigrations() {
	for _, old := range slices.Sorted(maps.Keys(c.opts.Migrations.Nodes)) {
		now := c.opts.Migrations.Nodes[old]
		if !c.known(now) {
			c.fail(now, "Migrations say that %q is now its name: %w", old, c.unknown(now))
		}
		if c.known(old) {
			c.fail(old, "Migrations say that it is now %q, and the graph has both", now)
		}
	}
	if c.schema == nil {
		return
	}
	for _, old := range slices.Sorted(maps.Keys(c.opts.Migrations.Channels)) {
		now := c.opts.Migrations.Channels[old]
		var err error
		if now == "" {
			err = c.schema.Drop(old)
		} else {
			err = c.schema.Rename(old, now)
		}
		if err != nil {
			c.fail("", "Migrations: %w", err)
		}
	}
}

// graph returns the graph. It copies the declarations, since the builder may be used
// again.
func (c *compiler) graph() *Graph {
	plan := &engine.Plan{Name: c.b.name, Schema: c.schema, Renamed: maps.Clone(c.opts.Migrations.Nodes)}
	g := &Graph{plan: plan, opts: c.opts, nested: map[string]*Graph{}}
	for _, name := range c.sortedNames() {
		n := c.b.nodes[name]
		switch {
		case name == Start:
			plan.Start = c.build(n)
		case n.declared:
			plan.Nodes = append(plan.Nodes, c.build(n))
		}
		if n.sub != nil {
			g.nested[name] = n.sub
		}
	}
	for _, j := range c.b.joins {
		made := engine.Join{Target: j.Target, Sources: sortedUnique(j.Sources)}
		if j.Target == End {
			g.endJoins = append(g.endJoins, made)
		} else {
			plan.Joins = append(plan.Joins, made)
		}
	}
	plan.Link()
	if len(c.opts.Middleware) > 0 {
		wrapped := map[*engine.Node]engine.Func{}
		c.wrapAll(plan, wrapped)
		plan.Wrap = func(n *engine.Node) engine.Func { return wrapped[n] }
	}
	g.options = g.opts.engineOptions(RunOptions{})
	return g
}

// build returns the plan's node for a declared node.
func (c *compiler) build(n *nodeSpec) *engine.Node {
	out := &engine.Node{
		Name: n.name, Edges: sortedUnique(n.edges), Branches: slices.Clone(n.branches),
		Destinations: slices.Clone(n.destinations), Deferred: n.deferred,
	}
	switch {
	case n.sub != nil:
		o := n.subOptions
		out.Subgraph = &engine.Subgraph{
			Plan: n.sub.plan, Options: n.sub.options, Persist: o.Persist,
			Input: protectInput(o.Input), Output: protectOutput(o.Output),
		}
		for _, h := range o.Private {
			out.Subgraph.Private = append(out.Subgraph.Private, h.Name())
		}
		out.Run = protectNode(c.wrap(n.name, runSubgraph, o.Middleware))
	case n.run != nil:
		out.Run = protectNode(n.run)
	}
	return out
}

func sortedUnique(names []string) []string {
	out := slices.Sorted(slices.Values(names))
	return slices.Compact(out)
}

// runSubgraph is the node function of every subgraph node.
func runSubgraph(ctx context.Context, _ state.View) (state.Update, error) {
	return engine.RunSubgraph(ctx)
}

// wrap returns a node function with middleware around it, the first one outermost.
func (c *compiler) wrap(node string, fn NodeFunc, middleware []Middleware) NodeFunc {
	for i, m := range slices.Backward(middleware) {
		if m == nil {
			c.fail(node, "Middleware %d is nil", i+1)
			continue
		}
		wrapped := m(fn)
		if wrapped == nil {
			c.fail(node, "Middleware %d returned nil; it must return a function, such as the one that it was given", i+1)
			continue
		}
		fn = wrapped
	}
	return fn
}

// wrapAll wraps every node of a plan and of its subgraphs in the graph's middleware.
func (c *compiler) wrapAll(p *engine.Plan, wrapped map[*engine.Node]engine.Func) {
	for _, n := range p.Nodes {
		if _, done := wrapped[n]; done {
			continue
		}
		wrapped[n] = protectNode(c.wrap(n.Name, NodeFunc(n.Run), c.opts.Middleware))
		if n.Subgraph != nil {
			c.wrapAll(n.Subgraph.Plan, wrapped)
		}
	}
}

func init() {
	engine.Protect = func(fn engine.Func) engine.Func { return protectNode(NodeFunc(fn)) }
	engine.SubgraphOf = func(g any) *engine.Subgraph {
		called := g.(*Graph)
		return &engine.Subgraph{Plan: called.plan, Options: called.options}
	}
}

// protectNode returns a function that returns a panic of fn as an error.
func protectNode(fn NodeFunc) engine.Func {
	return func(ctx context.Context, s state.View) (update state.Update, err error) {
		defer recoverPanic(&err)
		return fn(ctx, s)
	}
}

// protectInput returns a function that returns a panic of fn as an error.
func protectInput(fn func(state.View) (state.Update, error)) func(state.View) (state.Update, error) {
	if fn == nil {
		return nil
	}
	return protectBranch(fn)
}

// protectOutput returns a function that returns a panic of fn as an error.
func protectOutput(fn func(parent, sub state.View) (state.Update, error)) func(parent, sub state.View) (state.Update, error) {
	if fn == nil {
		return nil
	}
	return func(parent, sub state.View) (update state.Update, err error) {
		defer recoverPanic(&err)
		return fn(parent, sub)
	}
}
