package graph

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weft-go/weft/state"
)

// frontier is what is due after a superstep. It is never changed once made.
type frontier struct {
	next  []*node  // plain tasks, by name
	sends []*send  // sent tasks, in the order in which they were produced
	by    []string // the nodes whose run or update made it
	more  *aside   // nil for most
}

// aside is what a frontier has beside the tasks that are due.
type aside struct {
	waiting []*node           // deferred nodes that were triggered, by name
	arrived [][]bool          // for each join, which of its sources have run
	memory  map[string]string // persistent subgraphs: the head of each, by name
	call    string            // in a subgraph: the call that the checkpoint belongs to
	left    bool              // in a subgraph: it was left for its parent
	missing []string          // names of due nodes that the graph no longer has
}

var nothingAside aside // is only read

// aside returns it, to be read.
func (f *frontier) aside() *aside {
	if f.more != nil {
		return f.more
	}
	return &nothingAside
}

// put gives the frontier another one.
func (f *frontier) put(a aside) {
	f.more = nil
	if len(a.waiting)+len(a.arrived)+len(a.memory)+len(a.call)+len(a.missing) > 0 || a.left {
		own := a // a itself stays where it is
		f.more = &own
	}
}

// remember is put for what persistent subgraphs remember.
func (f *frontier) remember(memory map[string]string) {
	if len(memory) == 0 && f.more == nil {
		return
	}
	a := *f.aside()
	a.memory = memory
	f.put(a)
}

func (f *frontier) idle() bool { return len(f.next)+len(f.sends)+len(f.aside().missing) == 0 }

// become makes it another. Of what most supersteps do without, it writes nothing.
func (f *frontier) become(to *frontier) {
	if f.plain() && to.plain() {
		f.next, f.by = to.next, to.by
		return
	}
	*f = *to
}

// plain reports whether there is nothing but plain tasks.
func (f *frontier) plain() bool { return len(f.sends) == 0 && f.more == nil }

// routes is where one task leads.
type routes struct {
	nodes []*node
	sends []*send
}

// single returns what follows a lone task, if that is plain: nothing, or one
// node that does not wait. It is the planner's answer without its work.
func (g *Graph) single(n *node, r routes, before *frontier) (next []*node, ok bool) {
	if len(g.joins)+len(before.aside().waiting)+len(r.sends) > 0 || len(n.to)+len(r.nodes) > 1 {
		return nil, false
	}
	var to *node
	switch {
	case len(r.nodes) == 1:
		to = r.nodes[0]
	case len(n.to) == 1:
		to = n.to[0]
	default:
		return nil, true
	}
	return to.alone, !to.deferred
}

// planner gathers what the tasks of a superstep make due.
type planner struct {
	g       *Graph
	due     []bool // by node index
	waiting []bool
	sends   []*send
	arrived [][]bool
	fired   bool
}

func (g *Graph) plan(before *frontier) *planner {
	p := &planner{g: g, due: make([]bool, 2*len(g.nodes)), arrived: before.aside().arrived}
	p.waiting = p.due[len(g.nodes):]
	p.due = p.due[:len(g.nodes)]
	for _, n := range before.aside().waiting {
		p.waiting[n.index] = true
	}
	return p
}

func (p *planner) trigger(n *node) {
	if n.deferred {
		p.waiting[n.index] = true
	} else {
		p.due[n.index] = true
	}
}

// follow notes where a task led, and what its node's edges and joins make due.
func (p *planner) follow(n *node, r routes) {
	for _, to := range n.to {
		p.trigger(to)
	}
	for _, to := range r.nodes {
		p.trigger(to)
	}
	p.sends = append(p.sends, r.sends...)
	if len(p.g.joins) > 0 {
		p.arrive(n)
	}
}

// arrive marks n's place in every join.
func (p *planner) arrive(n *node) {
	for i, j := range p.g.joins {
		at, found := slices.BinarySearch(j.sources, n.name)
		if !found || p.arrived != nil && p.arrived[i] != nil && p.arrived[i][at] {
			continue
		}
		p.own()
		seen := make([]bool, len(j.sources))
		copy(seen, p.arrived[i])
		seen[at] = true
		p.arrived[i] = seen
	}
}

// join makes the targets of complete joins due, or lets them wait.
func (p *planner) join() {
	for i, seen := range p.arrived {
		if complete(seen) {
			p.trigger(p.g.byName[p.g.joins[i].target])
		}
	}
}

// fire begins the joins anew whose targets are due. Until then, what runs again
// changes nothing.
func (p *planner) fire(next []*node) {
	for i, seen := range p.arrived {
		if complete(seen) && slices.Contains(next, p.g.byName[p.g.joins[i].target]) {
			p.own()
			p.arrived[i] = nil
		}
	}
}

func complete(seen []bool) bool { return seen != nil && !slices.Contains(seen, false) }

// own copies the joins' progress before it is changed.
func (p *planner) own() {
	if !p.fired {
		arrived := make([][]bool, len(p.g.joins))
		copy(arrived, p.arrived)
		p.arrived, p.fired = arrived, true
	}
}

// frontier returns what is due: the deferred nodes once nothing else is.
func (p *planner) frontier() frontier {
	p.join()
	f := frontier{sends: p.sends, next: p.pick(p.due)}
	var more aside
	if f.idle() {
		f.next = p.pick(p.waiting)
	} else {
		more.waiting = p.pick(p.waiting)
	}
	p.fire(f.next)
	more.arrived = p.arrived
	f.put(more)
	return f
}

func (p *planner) pick(marks []bool) []*node {
	count := 0
	for _, on := range marks {
		if on {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	out := make([]*node, 0, count)
	for i, on := range marks {
		if on {
			out = append(out, p.g.nodes[i])
		}
	}
	return out
}

// control is a frontier as it is stored.
type control struct {
	Next    []string            `json:"next,omitempty"`
	Sends   []storedSend        `json:"sends,omitempty"`
	Waiting []string            `json:"waiting,omitempty"`
	Joins   map[string][]string `json:"joins,omitempty"`
	By      []string            `json:"by,omitempty"`
	Memory  map[string]string   `json:"memory,omitempty"`
	Call    string              `json:"call,omitempty"`
	Left    bool                `json:"left,omitempty"`
}

type storedSend struct {
	Node   string        `json:"node"`
	Writes []storedWrite `json:"writes,omitempty"`
}

type storedWrite struct {
	Channel string          `json:"channel"`
	Kind    state.Kind      `json:"kind"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// encode writes the frontier, into b where it can. The common case, plain tasks
// only, is written by hand: names need no escapes.
func (g *Graph) encode(f *frontier, b []byte) ([]byte, error) {
	if f.plain() {
		if len(f.next) == 1 && len(f.by) == 1 { // in an agent's loop, each time
			b = append(b, f.next[0].due...)
			b = append(b, `,"by":["`...)
			b = append(b, f.by[0]...)
			return append(b, `"]}`...), nil
		}
		b = append(b, '{')
		if len(f.next) > 0 {
			b = append(b, `"next":[`...)
			for i, n := range f.next {
				b = appendName(b, i, n.name)
			}
			b = append(b, ']')
		}
		if len(f.by) > 0 {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, `"by":[`...)
			for i, name := range f.by {
				b = appendName(b, i, name)
			}
			b = append(b, ']')
		}
		return append(b, '}'), nil
	}
	more := f.aside()
	c := control{Next: names(f.next), Waiting: names(more.waiting), By: f.by, Memory: more.memory, Call: more.call, Left: more.left}
	for _, s := range f.sends {
		stored, err := g.encodeSend(s)
		if err != nil {
			return nil, err
		}
		c.Sends = append(c.Sends, stored)
	}
	for i, seen := range more.arrived {
		j := g.joins[i]
		for at, ok := range seen {
			if ok {
				if c.Joins == nil {
					c.Joins = map[string][]string{}
				}
				c.Joins[j.key()] = append(c.Joins[j.key()], j.sources[at])
			}
		}
	}
	return json.Marshal(c)
}

func appendName(b []byte, i int, name string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"')
}

// key names a join in storage.
func (j join) key() string { return fmt.Sprintf("%q→%s", j.sources, j.target) }

func names(nodes []*node) []string {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.name
	}
	return out
}

func (g *Graph) encodeSend(s *send) (storedSend, error) {
	out := storedSend{Node: s.node}
	for _, w := range s.writes {
		k, data, ok, err := g.schema.EncodeWrite(w)
		if err != nil {
			return out, err
		}
		if ok {
			out.Writes = append(out.Writes, storedWrite{Channel: w.Channel(), Kind: k, Data: data})
		}
	}
	return out, nil
}

func (g *Graph) decodeSend(stored storedSend) (*send, error) {
	s := &send{node: stored.Node}
	for _, w := range stored.Writes {
		write, err := g.schema.DecodeWrite(w.Channel, w.Kind, w.Data)
		if err != nil {
			return nil, err
		}
		s.writes = append(s.writes, write)
	}
	return s, nil
}

func readControl(data []byte) (control, error) {
	var c control
	if len(data) == 0 {
		return c, nil
	}
	err := json.Unmarshal(data, &c)
	return c, err
}

// decode rebuilds a frontier. Nodes that the graph no longer has are set aside:
// only a run that would go on with them fails.
func (g *Graph) decode(data []byte) (frontier, error) {
	c, err := readControl(data)
	if err != nil {
		return frontier{}, err
	}
	f, more := frontier{by: c.By}, aside{memory: c.Memory, call: c.Call, left: c.Left}
	f.next = g.find(c.Next, &more.missing)
	more.waiting = g.find(c.Waiting, &more.missing)
	for _, stored := range c.Sends {
		if g.find([]string{stored.Node}, &more.missing) == nil {
			continue
		}
		s, err := g.decodeSend(stored)
		if err != nil {
			return f, err
		}
		f.sends = append(f.sends, s)
	}
	more.arrived = g.decodeJoins(c.Joins)
	f.put(more)
	return f, nil
}

// find returns the nodes of stored names, by name, and notes the names that the
// graph lacks.
func (g *Graph) find(stored []string, missing *[]string) []*node {
	var out []*node
	for _, name := range stored {
		if n := g.byName[name]; n != nil {
			out = append(out, n)
		} else {
			*missing = append(*missing, name)
		}
	}
	slices.SortFunc(out, func(a, b *node) int { return a.index - b.index })
	return out
}

// decodeJoins restores the progress of the joins that the graph still has.
func (g *Graph) decodeJoins(stored map[string][]string) [][]bool {
	if len(stored) == 0 {
		return nil
	}
	arrived := make([][]bool, len(g.joins))
	for i, j := range g.joins {
		for _, name := range stored[j.key()] {
			if at, ok := slices.BinarySearch(j.sources, name); ok {
				if arrived[i] == nil {
					arrived[i] = make([]bool, len(j.sources))
				}
				arrived[i][at] = true
			}
		}
	}
	return arrived
}
