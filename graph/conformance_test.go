package graph_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestConformance runs the cases recorded from LangGraph; their format is in
// testdata/conformance/README.md. WEFT_CASES names another folder of *.json and
// *.json.gz files to run instead.
func TestConformance(t *testing.T) {
	dir := os.Getenv("WEFT_CASES")
	if dir == "" {
		dir = filepath.Join("testdata", "conformance")
	}
	cases := readCases(t, dir)
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			passed := 0
			t.Cleanup(func() {
				t.Logf("conformance: %d cases, %d passed", len(cases), passed)
				if passed != len(cases) || len(cases) == 0 {
					t.Errorf("conformance: %d of %d cases passed", passed, len(cases))
				}
			})
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					runCase(t, c, open(t))
					if !t.Failed() {
						mu.Lock()
						passed++
						mu.Unlock()
					}
				})
			}
		})
	}
}

type namedCase struct {
	name string
	raw  json.RawMessage
}

func readCases(t *testing.T, dir string) []namedCase {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []namedCase
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".json.gz") {
			continue
		}
		data, err := readFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var raws []json.RawMessage
		if err := json.Unmarshal(data, &raws); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, raw := range raws {
			var head struct {
				Name string `json:"name"`
			}
			if err := json.Unmarshal(raw, &head); err != nil || head.Name == "" {
				head.Name = fmt.Sprintf("%s#%d", name, i)
			}
			out = append(out, namedCase{head.Name, raw})
		}
	}
	return out
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		return io.ReadAll(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// The format of a case.
type (
	confCase struct {
		Name         string `json:"name"`
		Checkpointer *bool  `json:"checkpointer"`
		confGraph
		Script []confCall        `json:"script"`
		Expect []json.RawMessage `json:"expect"`
	}
	confGraph struct {
		Channels        map[string]string `json:"channels"`
		Nodes           []confNode        `json:"nodes"`
		Edges           []confEdge        `json:"edges"`
		Branches        []confBranch      `json:"branches"`
		InterruptBefore []string          `json:"interrupt_before"`
		InterruptAfter  []string          `json:"interrupt_after"`
	}
	confNode struct {
		Name     string     `json:"name"`
		Do       []confOp   `json:"do"`
		Retry    int        `json:"retry"`
		Defer    bool       `json:"defer"`
		Ends     []string   `json:"ends"`
		Subgraph *confGraph `json:"subgraph"`
	}
	confEdge struct {
		From []string
		Join bool
		To   string
	}
	confBranch struct {
		From  string     `json:"from"`
		Cases []confWhen `json:"cases"`
		Else  *confWhen  `json:"else"`
	}
	confWhen struct {
		If *struct {
			Chan  string  `json:"chan"`
			Op    string  `json:"op"`
			Value float64 `json:"value"`
		} `json:"if"`
		To     []string    `json:"to"`
		Fanout *confFanout `json:"fanout"`
	}
	confFanout struct {
		Over string `json:"over"`
		To   string `json:"to"`
		Key  string `json:"key"`
	}
	confOp struct {
		Write     map[string]any `json:"write"`
		Count     *confMove      `json:"count"`
		Copy      *confMove      `json:"copy"`
		Interrupt *struct {
			Value any    `json:"value"`
			Into  string `json:"into"`
		} `json:"interrupt"`
		Fail *struct {
			Attempts int    `json:"attempts"`
			Message  string `json:"message"`
		} `json:"fail"`
		Goto []string `json:"goto"`
		Send []struct {
			To  string         `json:"to"`
			Arg map[string]any `json:"arg"`
		} `json:"send"`
		Fanout *confFanout `json:"fanout"`
		Parent []string    `json:"parent"`
	}
	confMove struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	confCall struct {
		Op      string          `json:"op"`
		Thread  string          `json:"thread"`
		Input   *map[string]any `json:"input"`
		Command *struct {
			Resume *json.RawMessage `json:"resume"`
			Update map[string]any   `json:"update"`
			Goto   []string         `json:"goto"`
		} `json:"command"`
		ResumeByNode    map[string]any `json:"resume_by_node"`
		RecursionLimit  int            `json:"recursion_limit"`
		InterruptBefore []string       `json:"interrupt_before"`
		Durability      string         `json:"durability"`
		At              *int           `json:"at"`
		Values          map[string]any `json:"values"`
		AsNode          string         `json:"as_node"`
	}
	confRun struct {
		Values     []map[string]any `json:"values"`
		Updates    [][]confUpdate   `json:"updates"`
		Interrupts []any            `json:"interrupts,omitempty"`
		Error      string           `json:"error,omitempty"`
	}
	confUpdate struct {
		Node   string         `json:"node"`
		Update map[string]any `json:"update"`
	}
	confState struct {
		Values     map[string]any `json:"values"`
		Next       []string       `json:"next"`
		Interrupts []confQuestion `json:"interrupts"`
	}
	confQuestion struct {
		Node  string `json:"node"`
		Value any    `json:"value"`
	}
	confEntry struct {
		Source string         `json:"source"`
		Values map[string]any `json:"values"`
		Next   []string       `json:"next"`
	}
)

func (e *confEdge) UnmarshalJSON(data []byte) error {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if err := json.Unmarshal(pair[1], &e.To); err != nil {
		return err
	}
	if len(pair[0]) > 0 && pair[0][0] == '[' {
		e.Join = true
		return json.Unmarshal(pair[0], &e.From)
	}
	e.From = make([]string, 1)
	return json.Unmarshal(pair[0], &e.From[0])
}

// confChannel is a channel of a case: its reducer and its handle.
type confChannel struct {
	kind   string
	handle state.Handle
	put    func(v any) (state.Write, error)
	get    func(s state.View) (any, bool)
}

func newConfChannel(name, kind string) (confChannel, error) {
	c := confChannel{kind: kind}
	switch kind {
	case "append":
		ch := state.Append[any](name)
		c.handle = ch
		c.put = func(v any) (state.Write, error) {
			list, ok := v.([]any)
			if !ok {
				return state.Write{}, fmt.Errorf("channel %s: %v is not a list", name, v)
			}
			return ch.Put(list...), nil
		}
		c.get = func(s state.View) (any, bool) {
			list, ok := ch.Lookup(s)
			if list == nil {
				list = []any{}
			}
			return list, ok
		}
	case "sum", "max":
		var ch *state.Channel[float64, float64]
		if ch = state.Sum[float64](name); kind == "max" {
			ch = state.Max[float64](name)
		}
		c.handle = ch
		c.put = func(v any) (state.Write, error) {
			n, ok := v.(float64)
			if !ok {
				return state.Write{}, fmt.Errorf("channel %s: %v is not a number", name, v)
			}
			return ch.Put(n), nil
		}
		c.get = func(s state.View) (any, bool) { n, ok := ch.Lookup(s); return n, ok }
	case "merge":
		ch := state.Map[string, any](name)
		c.handle = ch
		c.put = func(v any) (state.Write, error) {
			m, ok := v.(map[string]any)
			if !ok {
				return state.Write{}, fmt.Errorf("channel %s: %v is not an object", name, v)
			}
			return ch.Put(m), nil
		}
		c.get = func(s state.View) (any, bool) {
			m, ok := ch.Lookup(s)
			if m == nil {
				m = map[string]any{}
			}
			return m, ok
		}
	case "last":
		ch := state.Last[any](name)
		c.handle = ch
		c.put = func(v any) (state.Write, error) { return ch.Put(v), nil }
		c.get = func(s state.View) (any, bool) { return ch.Lookup(s) }
	default:
		return c, fmt.Errorf("channel %s: unknown reducer %q", name, kind)
	}
	return c, nil
}

// confBuilder turns a case into a graph.
type confBuilder struct {
	mu       sync.Mutex
	failures map[string]int // per node, over all threads
	store    checkpoint.Store
}

// confLevel is one graph of a case, with the channels that its nodes use.
type confLevel struct {
	b        *confBuilder
	spec     *confGraph
	channels map[string]confChannel
	g        *graph.Graph
}

var confAsk = graph.NewInterrupt[any, any]("ask")

func (b *confBuilder) build(spec *confGraph, name string, outer *confLevel) (*confLevel, error) {
	l := &confLevel{b: b, spec: spec, channels: map[string]confChannel{}}
	for _, ch := range slices.Sorted(mapKeys(spec.Channels)) {
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
	for _, ch := range slices.Sorted(mapKeys(l.channels)) {
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

// argumentKeys are the names that a sent task may see beside the channels.
func (s *confGraph) argumentKeys() []string {
	var keys []string
	for _, n := range s.Nodes {
		for _, op := range n.Do {
			if op.Copy != nil {
				keys = append(keys, op.Copy.From)
			}
			for _, snd := range op.Send {
				keys = slices.AppendSeq(keys, mapKeys(snd.Arg))
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
				fn = graph.Retry(graph.RetryPolicy{Attempts: n.Retry, Initial: time.Millisecond, Factor: 1, NoJitter: true}, fn)
			}
			gb.Node(name, fn)
		}
		if n.Defer {
			gb.Defer(name)
		}
		gb.Both(name)
		gb.Routes(name, n.targets()...)
		gb.Routes(graph.Start, name) // whatever a caller's command may name
	}
	return nil
}

// targets are the nodes that the node's own commands, and those of its
// subgraph to it, lead to.
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
		gb.Dispatch(confEnd(br.From), func(s state.View) state.Update { return l.choose(br, s) }, targets...)
	}
}

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

// node returns a node that does the case's operations.
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
				answer, err := confAsk.Key(fmt.Sprint(i)).Wait(ctx, op.Interrupt.Value)
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

// given is a value of the node's input: absent is null.
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

func (b *confBuilder) fails(node string, attempts int, counted *bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !*counted {
		*counted = true
		b.failures[node]++
	}
	return b.failures[node] <= attempts
}

// add merges a value into a node's update, as the format's page says.
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

func (l *confLevel) wrap(name string, v any) any {
	if l.channels[name].kind == "append" {
		return []any{v}
	}
	return v
}

func (l *confLevel) writes(values map[string]any) (state.Update, error) {
	var out state.Update
	for _, name := range slices.Sorted(mapKeys(values)) {
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

// values is the state as a case shows it.
func (l *confLevel) values(s state.View) map[string]any {
	out := map[string]any{}
	for name, kind := range l.spec.Channels {
		if v, ok := l.channels[name].get(s); ok || kind != "last" {
			out[name] = v
		}
	}
	return out
}

// update is a task's update as a case shows it: its effect on an empty state.
func (l *confLevel) update(t *testing.T, u state.Update) map[string]any {
	t.Helper()
	var handles []state.Handle
	for _, c := range l.channels {
		handles = append(handles, c.handle)
	}
	schema, err := state.NewSchema(handles...)
	if err != nil {
		t.Fatal(err)
	}
	tx := schema.Begin(schema.Empty())
	for _, w := range u {
		if err := tx.Apply(0, w); err != nil {
			t.Fatal(err)
		}
	}
	v, err := tx.Finish(true)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for name, c := range l.channels {
		if got, ok := c.get(v); ok {
			out[name] = got
		}
	}
	return out
}

func runCase(t *testing.T, nc namedCase, store checkpoint.Store) {
	dec := json.NewDecoder(strings.NewReader(string(nc.raw)))
	dec.DisallowUnknownFields()
	var c confCase
	if err := dec.Decode(&c); err != nil {
		t.Fatalf("cannot read the case: %v", err)
	}
	if len(c.Script) == 0 || len(c.Script) != len(c.Expect) {
		t.Fatalf("the case has %d calls and %d expectations", len(c.Script), len(c.Expect))
	}
	b := &confBuilder{failures: map[string]int{}}
	if c.Checkpointer == nil || *c.Checkpointer {
		b.store = store
	}
	l, err := b.build(&c.confGraph, c.Name, nil)
	if err != nil {
		t.Fatalf("cannot build the graph: %v", err)
	}
	for i, call := range c.Script {
		got, err := l.call(t, call)
		if err != nil {
			t.Fatalf("call %d (%s): %v", i, call.Op, err)
		}
		compare(t, i, call, got, c.Expect[i])
	}
}

func compare(t *testing.T, i int, call confCall, got any, want json.RawMessage) {
	t.Helper()
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var g, w any
	if err := errors.Join(json.Unmarshal(data, &g), json.Unmarshal(want, &w)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		script, _ := json.Marshal(call)
		t.Fatalf("call %d %s\n got  %s\n want %s", i, script, data, want)
	}
}

func (l *confLevel) call(t *testing.T, c confCall) (any, error) {
	ctx := t.Context()
	switch c.Op {
	case "invoke":
		return l.invoke(t, c)
	case "state":
		return l.state(ctx, c)
	case "history":
		return l.history(ctx, c)
	case "update":
		th, err := l.thread(ctx, c)
		if err != nil {
			return nil, err
		}
		writes, err := l.writes(c.Values)
		if err != nil {
			return nil, err
		}
		if _, err := th.Update(ctx, confEnd(c.AsNode), writes...); err != nil {
			return map[string]any{"error": errorName(err)}, nil
		}
		return map[string]any{"ok": true}, nil
	}
	return nil, fmt.Errorf("unknown call %q", c.Op)
}

func (l *confLevel) thread(ctx context.Context, c confCall) (*graph.Thread, error) {
	id := c.Thread
	if id == "" {
		id = "t"
	}
	th := l.g.Thread(id)
	if c.At != nil {
		entries, err := historyOf(ctx, th)
		if err != nil {
			return nil, err
		}
		if *c.At < 0 || *c.At >= len(entries) {
			return nil, fmt.Errorf("at %d of %d entries", *c.At, len(entries))
		}
		th = th.At(entries[*c.At].ID)
	}
	opts := graph.RunOptions{MaxSteps: c.RecursionLimit, PauseBefore: c.InterruptBefore}
	switch c.Durability {
	case "":
	case "exit":
		exit := graph.Exit
		opts.Durability = &exit
	case "sync":
		sync := graph.Sync
		opts.Durability = &sync
	case "async":
		async := graph.Async
		opts.Durability = &async
	default:
		return nil, fmt.Errorf("unknown durability %q", c.Durability)
	}
	return th.With(opts), nil
}

// historyOf lists a thread's checkpoints, oldest first. A branch begins with a
// checkpoint of its own here, which the format's history does not count.
func historyOf(ctx context.Context, th *graph.Thread) ([]graph.Info, error) {
	var out []graph.Info
	for info, err := range th.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return nil, err
		}
		if info.Source != checkpoint.Fork {
			out = append(out, info)
		}
	}
	slices.Reverse(out)
	return out, nil
}

func (l *confLevel) invoke(t *testing.T, c confCall) (any, error) {
	ctx := t.Context()
	if l.b.store == nil {
		writes, err := l.input(c)
		if err != nil {
			return nil, err
		}
		return l.collect(t, l.g.Stream(ctx, writes...))
	}
	th, err := l.thread(ctx, c)
	if err != nil {
		return nil, err
	}
	writes, err := l.input(c)
	if err != nil {
		return nil, err
	}
	answers, err := l.answers(ctx, th, c)
	if err != nil {
		return nil, err
	}
	return l.collect(t, th.Stream(ctx, append(writes, answers...)...))
}

func (l *confLevel) input(c confCall) (state.Update, error) {
	if c.Input != nil {
		writes, err := l.writes(*c.Input)
		return append(writes, graph.Begin()), err
	}
	if c.Command == nil {
		return nil, nil
	}
	writes, err := l.writes(c.Command.Update)
	if len(writes) > 0 {
		writes = append(writes, graph.Continue())
	}
	for _, to := range c.Command.Goto {
		writes = append(writes, graph.Goto(confEnd(to)))
	}
	return writes, err
}

// answers are those to the questions that are open.
func (l *confLevel) answers(ctx context.Context, th *graph.Thread, c confCall) (state.Update, error) {
	resume := c.Command != nil && c.Command.Resume != nil
	if len(c.ResumeByNode) == 0 && !resume {
		return nil, nil
	}
	snap, err := th.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	pending, err := confAsk.Pending(snap)
	if err != nil {
		return nil, err
	}
	var out state.Update
	for _, q := range pending {
		answer, ok := c.ResumeByNode[q.Node]
		if resume {
			ok = true
			if err := json.Unmarshal(*c.Command.Resume, &answer); err != nil {
				return nil, err
			}
		}
		if ok {
			out = append(out, confAsk.Answer(q.ID, answer))
		}
	}
	return out, nil
}

// collect reads the events of a run as a case shows them.
func (l *confLevel) collect(t *testing.T, events func(func(graph.Event, error) bool)) (any, error) {
	out := confRun{Values: []map[string]any{}, Updates: [][]confUpdate{}}
	var step []confUpdate
	flush := func() {
		if len(step) > 0 {
			slices.SortFunc(step, func(a, b confUpdate) int { return cmp.Compare(jsonText(a), jsonText(b)) })
			out.Updates = append(out.Updates, step)
		}
		step = nil
	}
	show := func(s state.View) {
		v := l.values(s)
		if n := len(out.Values); n == 0 || !reflect.DeepEqual(out.Values[n-1], v) {
			out.Values = append(out.Values, v)
		}
	}
	for ev, err := range events {
		if err != nil {
			out.Error = errorName(err)
			out.Interrupts = nil
			if out.Error == "invalid_update" {
				step = nil
			}
			break
		}
		if ev.At().Path != "" {
			continue
		}
		switch ev := ev.(type) {
		case graph.RunStarted:
			show(ev.State)
		case graph.StepStarted:
			flush()
		case graph.TaskFinished:
			if !ev.Kept && !ev.Asked && ev.Err == nil {
				step = append(step, confUpdate{ev.Node, l.update(t, ev.Update)})
			}
		case graph.StateChanged:
			show(ev.State)
		case graph.Paused:
			for _, p := range ev.Pauses {
				if p.Kind == graph.Question {
					var v any
					if err := json.Unmarshal(p.Prompt, &v); err != nil {
						return nil, err
					}
					out.Interrupts = append(out.Interrupts, v)
				}
			}
		}
	}
	flush()
	slices.SortFunc(out.Interrupts, func(a, b any) int { return cmp.Compare(jsonText(a), jsonText(b)) })
	return out, nil
}

func errorName(err error) string {
	var node *graph.NodeError
	switch {
	case errors.Is(err, state.ErrConcurrentWrite):
		return "invalid_update"
	case errors.Is(err, graph.ErrAmbiguous):
		return "invalid_update"
	case errors.Is(err, graph.ErrMaxSteps):
		return "recursion_limit"
	case errors.Is(err, graph.ErrNoInput):
		return "empty_input"
	case errors.As(err, &node):
		return "node_error"
	}
	return err.Error()
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (l *confLevel) state(ctx context.Context, c confCall) (any, error) {
	th, err := l.thread(ctx, c)
	if err != nil {
		return nil, err
	}
	snap, err := th.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	out := confState{Values: l.values(snap), Next: []string{}, Interrupts: []confQuestion{}}
	out.Next = append(out.Next, snap.Next...)
	slices.Sort(out.Next)
	pending, err := confAsk.Pending(snap)
	for _, q := range pending {
		out.Interrupts = append(out.Interrupts, confQuestion{q.Node, q.Prompt})
	}
	slices.SortFunc(out.Interrupts, func(a, b confQuestion) int { return cmp.Compare(jsonText(a), jsonText(b)) })
	return out, err
}

func (l *confLevel) history(ctx context.Context, c confCall) (any, error) {
	th, err := l.thread(ctx, c)
	if err != nil {
		return nil, err
	}
	infos, err := historyOf(ctx, th)
	if err != nil {
		return nil, err
	}
	out := []confEntry{}
	for _, info := range infos {
		snap, err := th.At(info.ID).Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		e := confEntry{Source: string(info.Source), Values: l.values(snap), Next: append([]string{}, info.Next...)}
		slices.Sort(e.Next)
		out = append(out, e)
	}
	return out, nil
}
