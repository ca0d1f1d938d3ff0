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
// channels that it wrote to. Graph reads the whole thread.
func Graph(ctx context.Context, store checkpoint.Store, thread string) (*graph.Graph, error) {
	s := scanner{channels: map[string]*channel{}, root: newPart()}
	read := map[string]bool{}
	for c, err := range store.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return nil, err
		}
		p := s.root.at(c.Namespace)
		sends, err := p.checkpoint(&c)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", c.ID, err)
		}
		for _, sent := range sends {
			s.send(p, sent)
		}
		for _, w := range c.Writes {
			s.write(p, w)
		}
		if read[c.Namespace+"\x00"+c.ID] {
			continue
		}
		full, err := store.Get(ctx, c.Key)
		if err != nil {
			return nil, err
		}
		for _, d := range full.Lineage { // it has the changes of the ancestors too
			read[c.Namespace+"\x00"+d.ID] = true
			for _, ch := range d.Changes {
				s.change(p, ch.Channel, statecore.Kind(ch.Kind), ch.Data)
			}
		}
	}
	handles := map[string]state.Handle{}
	for name, c := range s.channels {
		handles[name] = c.handle(name)
	}
	return s.root.graph(thread, handles, graph.Options{Checkpoints: store})
}

// A scanner collects the channels of a thread. Channels of a graph and its subgraphs with one
// name are taken to be one channel, which the graphs share.
type scanner struct {
	channels map[string]*channel
	root     *part
}

func (s *scanner) channel(p *part, name string) *channel {
	p.channels[name] = true
	c := s.channels[name]
	if c == nil {
		c = &channel{}
		s.channels[name] = c
	}
	return c
}

func (s *scanner) change(p *part, name string, k statecore.Kind, data []byte) {
	if !strings.HasPrefix(name, "$") {
		s.channel(p, name).change(k, data)
	}
}

// write adds a pending write. Its kind has one more bit at the end of a task's result.
func (s *scanner) write(p *part, w checkpoint.Write) {
	p.add(nodeOf(w.Task))
	switch {
	case w.Channel == mark.Goto:
		p.add(string(w.Data))
	case w.Channel == mark.Send:
		var sent send
		if json.Unmarshal(w.Data, &sent) == nil {
			s.send(p, sent)
		}
	case strings.HasPrefix(w.Channel, "$"):
	default:
		s.channel(p, w.Channel).write(statecore.Kind(w.Kind&^mark.EndOfResult), w.Data)
	}
}

// send adds a task that was sent to a node.
func (s *scanner) send(p *part, sent send) {
	p.add(sent.Node)
	for _, w := range sent.Writes {
		s.channel(p, w.Channel).write(w.Kind, w.Data)
	}
}

// A part is a graph or subgraph of a thread.
type part struct {
	channels map[string]bool
	nodes    map[string]bool
	edges    map[string]map[string]bool
	subs     map[string]*part
}

func newPart() *part {
	return &part{channels: map[string]bool{}, nodes: map[string]bool{}, edges: map[string]map[string]bool{}, subs: map[string]*part{}}
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

// graph builds the graph of a part.
func (p *part) graph(name string, handles map[string]state.Handle, o graph.Options) (*graph.Graph, error) {
	if len(p.nodes) == 0 {
		p.add("node")
	}
	var own []state.Handle
	for _, ch := range slices.Sorted(maps.Keys(p.channels)) {
		own = append(own, handles[ch])
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
		b.Subgraph(node, g)
	}
	p.connect(b)
	return b.Compile(o)
}

// connect adds the edges, and one from the start to each node that no edge leads to.
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
