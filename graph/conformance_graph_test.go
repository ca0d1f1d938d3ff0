package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// confBuilder builds the graphs of one case.
type confBuilder struct {
	mu       sync.Mutex
	failures map[string]int // failed executions by node, over all threads
	store    checkpoint.Store
	threads  string // the start of the ids of the case's threads
}

// confLevel is a case's graph or one of its subgraphs, with its channels.
type confLevel struct {
	b        *confBuilder
	spec     *confGraph
	channels map[string]confChannel
	g        *graph.Graph
}

// confAsk is the interrupt of every question in a case.
var confAsk = graph.NewInterrupt[any, any]("ask")

// build compiles a graph. A subgraph shares the channels of outer that have the
// same name and reducer.
func (b *confBuilder) build(spec *confGraph, name string, outer *confLevel) (*confLevel, error) {
	l := &confLevel{b: b, spec: spec, channels: map[string]confChannel{}}
	for _, ch := range slices.Sorted(maps.Keys(spec.Channels)) {
		if outer != nil {
			if same, ok := outer.channels[ch]; ok && same.kind == spec.Channels[ch] {
				l.channels[ch] = same
				continue
			}
		}
		c, err := newConfChannel(ch, spec.Channels[ch])
		if err != nil {
			return nil, err
		}
		l.channels[ch] = c
	}
	for _, key := range spec.argumentKeys() {
		if _, ok := l.channels[key]; !ok {
			l.channels[key], _ = newConfChannel(key, "last")
		}
	}
	var handles []state.Handle
	for _, ch := range slices.Sorted(maps.Keys(l.channels)) {
		handles = append(handles, l.channels[ch].handle)
	}
	gb := graph.New(name, handles...)
	if err := l.nodes(gb); err != nil {
		return nil, err
	}
	l.edges(gb)
	opts := graph.Options{Checkpoints: b.store, PauseBefore: spec.InterruptBefore, PauseAfter: spec.InterruptAfter}
	var err error
	l.g, err = gb.Compile(opts)
	return l, err
}

// argumentKeys returns the names that the input of a sent task may contain in
// addition to the channels.
func (s *confGraph) argumentKeys() []string {
	var keys []string
	for _, n := range s.Nodes {
		for _, op := range n.Do {
			if op.Copy != nil {
				keys = append(keys, op.Copy.From)
			}
			for _, snd := range op.Send {
				keys = slices.AppendSeq(keys, maps.Keys(snd.Arg))
			}
			if op.Fanout != nil {
				keys = append(keys, op.Fanout.Key)
			}
		}
	}
	for _, br := range s.Branches {
		for _, w := range br.whens() {
			if w.Fanout != nil {
				keys = append(keys, w.Fanout.Key)
			}
		}
	}
	return keys
}

func (b confBranch) whens() []confWhen {
	out := slices.Clone(b.Cases)
	if b.Else != nil {
		out = append(out, *b.Else)
	}
	return out
}

func (l *confLevel) nodes(gb *graph.Builder) error {
	for _, n := range l.spec.Nodes {
		name := confEnd(n.Name)
		if n.Subgraph != nil {
			sub, err := l.b.build(n.Subgraph, n.Name, l)
			if err != nil {
				return err
			}
			gb.Subgraph(name, sub.g)
		} else {
			fn := l.node(n)
			if n.Retry > 0 {
				fn = node.Retry(node.RetryPolicy{Attempts: n.Retry, Initial: time.Millisecond, Factor: 1, NoJitter: true}, fn)
			}
			gb.Node(name, fn)
		}
		if n.Defer {
			gb.Defer(name)
		}
		gb.AllowEdgesAndBranches(name)
		gb.Destinations(name, n.targets()...)
		gb.Destinations(graph.Start, name) // a caller's command may name any node
	}
	return nil
}

// targets returns the nodes that commands may name: commands of the node, and commands
// of its subgraph to the parent.
func (n confNode) targets() []string {
	var out []string
	for _, e := range n.Ends {
		out = append(out, confEnd(e))
	}
	for _, op := range n.Do {
		for _, to := range op.Goto {
			out = append(out, confEnd(to))
		}
		for _, s := range op.Send {
			out = append(out, s.To)
		}
		if op.Fanout != nil {
			out = append(out, op.Fanout.To)
		}
	}
	if n.Subgraph != nil {
		for _, inner := range n.Subgraph.Nodes {
			for _, op := range inner.Do {
				for _, to := range op.Parent {
					out = append(out, confEnd(to))
				}
			}
		}
	}
	return out
}

// confEnd translates the format's names for the start and the end of a graph.
func confEnd(name string) string {
	switch name {
	case "START":
		return graph.Start
	case "END":
		return graph.End
	}
	return name
}

func (l *confLevel) edges(gb *graph.Builder) {
	for _, e := range l.spec.Edges {
		if e.Join {
			gb.Join(confEnd(e.To), e.From...)
		} else {
			gb.Edge(confEnd(e.From[0]), confEnd(e.To))
		}
	}
	for _, br := range l.spec.Branches {
		var targets []string
		for _, w := range br.whens() {
			for _, to := range w.To {
				targets = append(targets, confEnd(to))
			}
			if w.Fanout != nil {
				targets = append(targets, w.Fanout.To)
			}
		}
		gb.BranchMany(confEnd(br.From), func(s state.View) (state.Update, error) { return l.choose(br, s), nil }, targets...)
	}
}

// choose returns the targets of the first case whose condition is true.
func (l *confLevel) choose(br confBranch, s state.View) state.Update {
	for _, w := range br.Cases {
		if w.If == nil || l.holds(w, s) {
			return l.follow(w, s)
		}
	}
	if br.Else == nil {
		return nil
	}
	return l.follow(*br.Else, s)
}

func (l *confLevel) holds(w confWhen, s state.View) bool {
	v, n := l.read(w.If.Chan, s), 0.0
	switch v := v.(type) {
	case float64:
		n = v
	case []any:
		n = float64(len(v))
	}
	switch w.If.Op {
	case "lt":
		return n < w.If.Value
	case "ge":
		return n >= w.If.Value
	case "eq":
		return n == w.If.Value
	}
	panic("unknown comparison " + w.If.Op)
}

func (l *confLevel) read(name string, s state.View) any {
	c, ok := l.channels[name]
	if !ok {
		return nil
	}
	v, _ := c.get(s)
	return v
}

func (l *confLevel) follow(w confWhen, s state.View) state.Update {
	var out state.Update
	for _, to := range w.To {
		out = append(out, graph.Goto(confEnd(to)))
	}
	if w.Fanout != nil {
		out = append(out, l.fanout(w.Fanout, s)...)
	}
	return out
}

func (l *confLevel) fanout(f *confFanout, s state.View) state.Update {
	var out state.Update
	list, _ := l.read(f.Over, s).([]any)
	for _, item := range list {
		w, err := l.channels[f.Key].put(item)
		if err != nil {
			panic(err)
		}
		out = append(out, graph.Send(f.To, w))
	}
	return out
}

// node returns a node function that executes the operations of n.
func (l *confLevel) node(n confNode) graph.NodeFunc {
	return func(ctx context.Context, s state.View) (state.Update, error) {
		update := map[string]any{}
		var signals state.Update
		counted := false
		for i, op := range n.Do {
			switch {
			case op.Write != nil:
				for name, v := range op.Write {
					l.add(update, name, v)
				}
			case op.Count != nil:
				list, _ := l.read(op.Count.From, s).([]any)
				l.add(update, op.Count.To, l.wrap(op.Count.To, float64(len(list))))
			case op.Copy != nil:
				l.add(update, op.Copy.To, l.wrap(op.Copy.To, l.given(op.Copy.From, s)))
			case op.Interrupt != nil:
				answer, err := confAsk.WaitKey(ctx, fmt.Sprint(i), op.Interrupt.Value)
				if err != nil {
					return nil, err
				}
				l.add(update, op.Interrupt.Into, l.wrap(op.Interrupt.Into, answer))
			case op.Fail != nil:
				if l.b.fails(n.Name, op.Fail.Attempts, &counted) {
					return nil, errors.New(op.Fail.Message)
				}
			case op.Goto != nil:
				for _, to := range op.Goto {
					signals = append(signals, graph.Goto(confEnd(to)))
				}
			case op.Send != nil:
				for _, snd := range op.Send {
					writes, err := l.writes(snd.Arg)
					if err != nil {
						return nil, err
					}
					signals = append(signals, graph.Send(snd.To, writes...))
				}
			case op.Fanout != nil:
				signals = append(signals, l.fanout(op.Fanout, s)...)
			case op.Parent != nil:
				for _, to := range op.Parent {
					signals = append(signals, graph.ToParent(graph.Goto(confEnd(to))))
				}
			default:
				return nil, fmt.Errorf("node %s: operation %d is unknown", n.Name, i)
			}
		}
		writes, err := l.writes(update)
		return append(writes, signals...), err
	}
}

// given returns a value of the node's input, or nil if it is absent.
func (l *confLevel) given(name string, s state.View) any {
	c, ok := l.channels[name]
	if !ok {
		return nil
	}
	v, ok := c.get(s)
	if !ok && c.kind == "last" {
		return nil
	}
	return v
}

// fails reports whether this execution of the node must fail. An execution with several
// fail operations counts once.
func (b *confBuilder) fails(node string, attempts int, counted *bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !*counted {
		*counted = true
		b.failures[node]++
	}
	return b.failures[node] <= attempts
}

// add merges a value into a node's update, by the rules in
// testdata/conformance/README.md.
func (l *confLevel) add(update map[string]any, name string, v any) {
	old, ok := update[name]
	switch {
	case ok && l.channels[name].kind == "append":
		update[name] = append(slices.Clone(old.([]any)), v.([]any)...)
	case ok && l.channels[name].kind == "sum":
		update[name] = old.(float64) + v.(float64)
	default:
		update[name] = v
	}
}

// wrap makes v a value that the named channel accepts: an append channel takes
// a list.
func (l *confLevel) wrap(name string, v any) any {
	if l.channels[name].kind == "append" {
		return []any{v}
	}
	return v
}

func (l *confLevel) writes(values map[string]any) (state.Update, error) {
	var out state.Update
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c, ok := l.channels[name]
		if !ok {
			return nil, fmt.Errorf("no channel %q", name)
		}
		w, err := c.put(values[name])
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// values returns the state in the format of a case.
func (l *confLevel) values(s state.View) map[string]any {
	out := map[string]any{}
	for name, kind := range l.spec.Channels {
		if v, ok := l.channels[name].get(s); ok || kind != "last" {
			out[name] = v
		}
	}
	return out
}

// update returns a task's update in the format of a case: the state that results from
// applying it to an empty state.
func (l *confLevel) update(t *testing.T, u state.Update) map[string]any {
	t.Helper()
	var handles []state.Handle
	for _, c := range l.channels {
		handles = append(handles, c.handle)
	}
	schema, err := statecore.NewSchema(handles...)
	require.NoError(t, err)
	tx := schema.Begin(schema.Empty())
	require.NoError(t, statecore.Apply(tx, 0, u))
	v, err := tx.Finish(true)
	require.NoError(t, err)
	out := map[string]any{}
	for name, c := range l.channels {
		if got, ok := c.get(v); ok {
			out[name] = got
		}
	}
	return out
}
