package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// ErrNoCode is returned by a run of a graph that was built from checkpoints.
var ErrNoCode = errors.New("the graph was read from its checkpoints; the program that has its code can run it")

// Graph returns a graph with the channels and nodes that occur in the checkpoints of a thread, and
// with the store. An edge leads from a node to each node that was due after it. A subgraph has the
// channels that it wrote to. It shares a channel with its parent if both have one with the same name,
// unless the changes show that the two have different kinds. If the changes do not show this, a private
// channel of the program is shared too, and so begins with the value of the parent's channel.
// Graph reads the whole thread. It returns a [state.ChannelError] if no known kind of channel stores the
// changes of a channel.
func Graph(ctx context.Context, store checkpoint.Store, thread string) (*graph.Graph, error) {
	root := newPart()
	read := map[string]bool{}
	for c, err := range store.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return nil, err
		}
		p := root.at(c.Namespace)
		sends, err := p.checkpoint(&c)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", c.ID, err)
		}
		for _, sent := range sends {
			p.send(sent)
		}
		for _, w := range c.Writes {
			p.write(w)
		}
		if read[c.Namespace+"\x00"+c.ID] {
			continue
		}
		full, err := store.Get(ctx, c.Key)
		if err != nil {
			return nil, err
		}
		for _, d := range full.Lineage { // the lineage has the changes of the ancestors too
			read[c.Namespace+"\x00"+d.ID] = true
			for _, ch := range d.Changes {
				p.change(ch.Channel, statecore.Kind(ch.Kind), ch.Data)
			}
		}
	}
	root.share(nil)
	return root.graph(thread, map[*channel]state.Handle{}, graph.Options{Checkpoints: store})
}

// A part is a graph or subgraph of a thread.
type part struct {
	channels map[string]*channel
	nodes    map[string]bool
	edges    map[string]map[string]bool
	subs     map[string]*part
}

func newPart() *part {
	return &part{channels: map[string]*channel{}, nodes: map[string]bool{}, edges: map[string]map[string]bool{}, subs: map[string]*part{}}
}

func (p *part) channel(name string) *channel {
	c := p.channels[name]
	if c == nil {
		c = &channel{}
		p.channels[name] = c
	}
	return c
}

func (p *part) change(name string, k statecore.Kind, data []byte) {
	if !strings.HasPrefix(name, "$") {
		p.channel(name).change(k, data)
	}
}

// write adds a pending write. The kind of the last write of a task's result also has the bit mark.EndOfResult.
func (p *part) write(w checkpoint.Write) {
	p.add(nodeOf(w.Task))
	switch {
	case w.Channel == mark.Goto:
		p.add(string(w.Data))
	case w.Channel == mark.Send:
		var sent send
		if json.Unmarshal(w.Data, &sent) == nil {
			p.send(sent)
		}
	case strings.HasPrefix(w.Channel, "$"):
	default:
		p.channel(w.Channel).write(statecore.Kind(w.Kind&^mark.EndOfResult), w.Data)
	}
}

// send adds a task that was sent to a node.
func (p *part) send(sent send) {
	p.add(sent.Node)
	for _, w := range sent.Writes {
		p.channel(w.Channel).write(w.Kind, w.Data)
	}
}

// share merges each channel of the part with the channel of the same name in its parent. If no kind of
// channel stores the changes of both, the two stay separate, and the channel of the subgraph is private.
func (p *part) share(parent *part) {
	if parent != nil {
		for name, c := range p.channels {
			if up := parent.channels[name]; up != nil {
				if both := up.with(c); both.known() {
					*up, p.channels[name] = *both, up
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.subs)) {
		p.subs[name].share(p)
	}
}

// nodeOf returns the node of a task.
func nodeOf(task string) string {
	if i := strings.IndexAny(task, "[~@"); i > 0 {
		return task[:i]
	}
	return task
}

// at returns the part with the checkpoints of a namespace, such as research@ID/search[2]@ID.
func (p *part) at(namespace string) *part {
	if namespace == "" {
		return p
	}
	for call := range strings.SplitSeq(namespace, "/") {
		name := strings.TrimPrefix(nodeOf(call), "~")
		p.add(name)
		if p.subs[name] == nil {
			p.subs[name] = newPart()
		}
		p = p.subs[name]
	}
	return p
}

func (p *part) add(node string) {
	if node != "" && node != graph.Start && node != graph.End {
		p.nodes[node] = true
	}
}

func (p *part) edge(from, to string) {
	p.add(from)
	p.add(to)
	if p.edges[from] == nil {
		p.edges[from] = map[string]bool{}
	}
	p.edges[from][to] = true
}

// control is the part of the stored control of a checkpoint that names nodes.
type control struct {
	Next    []string            `json:"next"`
	Sends   []send              `json:"sends"`
	Waiting []string            `json:"waiting"`
	Joins   map[string][]string `json:"joins"`
	By      []string            `json:"by"`
}

// A send is the stored form of a task that was sent to a node.
type send struct {
	Node   string `json:"node"`
	Writes []struct {
		Channel string          `json:"channel"`
		Kind    statecore.Kind  `json:"kind"`
		Data    json.RawMessage `json:"data"`
	} `json:"writes"`
}

// checkpoint adds the nodes of a checkpoint, and the edges between them. It returns the tasks that
// were sent.
func (p *part) checkpoint(c *checkpoint.Checkpoint) ([]send, error) {
	var ctl control
	if len(c.Control) > 0 {
		if err := json.Unmarshal(c.Control, &ctl); err != nil {
			return nil, fmt.Errorf("%w: %w", checkpoint.ErrCorrupt, err)
		}
	}
	due := slices.Concat(ctl.Next, ctl.Waiting)
	for _, s := range ctl.Sends {
		due = append(due, s.Node)
	}
	by := ctl.By
	if len(by) == 0 {
		by = []string{graph.Start}
	}
	for _, to := range due {
		for _, from := range by {
			p.edge(from, to)
		}
	}
	for _, sources := range ctl.Joins {
		for _, s := range sources {
			p.add(s)
		}
	}
	for _, from := range ctl.By {
		p.add(from)
		if len(due) == 0 && from != graph.Start {
			p.edge(from, graph.End)
		}
	}
	return ctl.Sends, nil
}

// graph builds the graph of a part. The map handles has the handles of channels so far, and graph adds its own.
func (p *part) graph(name string, handles map[*channel]state.Handle, o graph.Options) (*graph.Graph, error) {
	if len(p.nodes) == 0 {
		p.add("node")
	}
	var own []state.Handle
	for _, name := range slices.Sorted(maps.Keys(p.channels)) {
		c := p.channels[name]
		if handles[c] == nil {
			h, err := c.handle(name)
			if err != nil {
				return nil, err
			}
			handles[c] = h
		}
		own = append(own, handles[c])
	}
	b := graph.New(name, own...)
	for _, node := range slices.Sorted(maps.Keys(p.nodes)) {
		sub := p.subs[node]
		if sub == nil {
			b.Node(node, noCode)
			continue
		}
		g, err := sub.graph(node, handles, graph.Options{})
		if err != nil {
			return nil, err
		}
		b.SubgraphWith(node, g, graph.SubgraphOptions{Private: p.privateOf(sub, handles)})
	}
	p.connect(b)
	return b.Compile(o)
}

// privateOf returns the channels of a subgraph that have the name of a channel of the part, but are not
// shared with the part.
func (p *part) privateOf(sub *part, handles map[*channel]state.Handle) (private []state.Handle) {
	for name, c := range sub.channels {
		if up := p.channels[name]; up != nil && up != c {
			private = append(private, handles[c])
		}
	}
	return private
}

// connect adds the edges, and as many edges from the start as are needed to reach every node.
func (p *part) connect(b *graph.Builder) {
	reached := map[string]bool{}
	var visit func(from string)
	visit = func(from string) {
		for to := range p.edges[from] {
			if !reached[to] {
				reached[to] = true
				visit(to)
			}
		}
	}
	visit(graph.Start)
	for _, node := range slices.Sorted(maps.Keys(p.nodes)) {
		if !reached[node] {
			p.edge(graph.Start, node)
			reached[node] = true
			visit(node)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(p.edges)) {
		targets := slices.Sorted(maps.Keys(p.edges[from]))
		if from != graph.Start {
			b.Destinations(from, targets...)
			continue
		}
		for _, to := range targets {
			b.Edge(from, to)
		}
	}
}

func noCode(context.Context, state.View) (state.Update, error) { return nil, ErrNoCode }
