package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// control is the stored form of a frontier, in [checkpoint.Checkpoint.Control].
// Joins and Memory store the fields arrived and persistent of [frontier].
type control struct {
	Next    []string            `json:"next,omitempty"`
	Sends   []storedSend        `json:"sends,omitempty"`
	Waiting []string            `json:"waiting,omitempty"`
	Joins   map[string][]string `json:"joins,omitempty"`
	By      []string            `json:"by,omitempty"`
	Memory  map[string]string   `json:"memory,omitempty"`
	Call    string              `json:"call,omitempty"`
	Left    bool                `json:"left,omitempty"`
	// Origin is the origin of the thread's branch; see [Task.IdempotencyKey].
	Origin *string `json:"origin,omitempty"`
}

// A storedSend is the stored form of a Send.
type storedSend struct {
	Node   string        `json:"node"`
	Writes []storedWrite `json:"writes,omitempty"`
	Over   bool          `json:"over,omitempty"`
}

// A storedWrite is the stored form of a write to a channel.
type storedWrite struct {
	Channel string          `json:"channel"`
	Kind    statecore.Kind  `json:"kind"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// encodeControl appends the stored form of a frontier to b.
func (p *Plan) encodeControl(b []byte, f *frontier, origin *string) ([]byte, error) {
	if f.plain() {
		return appendPlainControl(b, f, origin), nil
	}
	c := control{
		Next: nodeNames(f.next), Waiting: nodeNames(f.waiting), By: f.by,
		Memory: f.persistent, Call: f.call, Left: f.left, Origin: origin,
	}
	for _, s := range f.sends {
		stored, err := p.encodeSend(s.node.Name, s.writes, s.over)
		if err != nil {
			return nil, err
		}
		c.Sends = append(c.Sends, stored)
	}
	for i, seen := range f.arrived {
		j := &p.Joins[i]
		for at, ok := range seen {
			if ok {
				if c.Joins == nil {
					c.Joins = map[string][]string{}
				}
				key := joinKey(j.Sources, j.Target)
				c.Joins[key] = append(c.Joins[key], j.Sources[at])
			}
		}
	}
	text, err := json.Marshal(&c)
	return append(b, text...), err
}

// appendPlainControl is a fast path of encodeControl for a frontier of plain tasks.
func appendPlainControl(b []byte, f *frontier, origin *string) []byte {
	b = append(slices.Grow(b, 128), '{') // so that most runs need one allocation
	for i, n := range f.next {
		b = appendListed(b, i, `"next":["`, n.Name)
	}
	if len(f.next) > 0 {
		b = append(b, "],"...)
	}
	for i, name := range f.by {
		b = appendListed(b, i, `"by":["`, name)
	}
	if len(f.by) > 0 {
		b = append(b, "],"...)
	}
	if origin != nil {
		b = append(b, `"origin":"`...)
		b = append(append(b, *origin...), `",`...)
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}')
}

// appendListed appends a name to a JSON list. The first name begins the list.
func appendListed(b []byte, i int, begin, name string) []byte {
	if i > 0 {
		begin = `,"`
	}
	b = append(append(b, begin...), name...) // a valid name contains no character that JSON escapes
	return append(b, '"')
}

// joinKey returns the key of a join in [control].Joins.
func joinKey(sources []string, target string) string { return fmt.Sprintf("%q→%s", sources, target) }

// readControl decodes the Control of a checkpoint. Empty data is an empty control.
func readControl(data []byte) (control, error) {
	var c control
	if len(data) == 0 {
		return c, nil
	}
	err := json.Unmarshal(data, &c)
	return c, err
}

// DueNodes returns the node name of each due task in the Control of a checkpoint.
// These are the names that were stored, even if a node was renamed later.
func DueNodes(data []byte) ([]string, error) {
	c, err := readControl(data)
	if err != nil {
		return nil, err
	}
	next := c.Next
	for _, s := range c.Sends {
		next = append(next, s.Node)
	}
	return next, nil
}

// decodeControl rebuilds a frontier from its stored form.
// If the graph does not have the node of a plain task or a waiting node, decodeControl adds
// the stored name to frontier.missing, and a run from the frontier fails.
// If the graph has the node of a sent task, decodeControl decodes the sent writes only if the
// function mustRun is nil or returns true for the id of the task.
func (p *Plan) decodeControl(c *control, mustRun func(id string) bool) (frontier, error) {
	f := frontier{persistent: c.Memory, call: c.Call, left: c.Left}
	for _, name := range c.By {
		f.by = append(f.by, p.current(name))
	}
	f.next = p.findNodes(c.Next, &f.missing)
	f.waiting = p.findNodes(c.Waiting, &f.missing)
	f.sends = make([]sentTask, 0, len(c.Sends))
	tx := p.Schema.NewTx()
	for i, stored := range c.Sends {
		n := p.byName[p.current(stored.Node)]
		if n != nil && mustRun != nil && !mustRun(taskID(n.Name, i+1, "")) {
			f.sends = append(f.sends, sentTask{node: n, view: p.empty})
			continue
		}
		s, err := p.decodeSend(tx, stored)
		if err != nil {
			return f, err
		}
		f.sends = append(f.sends, s)
	}
	f.arrived = p.decodeJoins(c.Joins)
	return f, nil
}

// findNodes returns the nodes with the stored names, sorted by name.
// It adds each name that the graph does not have to the list missing.
func (p *Plan) findNodes(stored []string, missing *[]string) []*Node {
	var out []*Node
	for _, name := range stored {
		if n := p.byName[p.current(name)]; n != nil {
			out = append(out, n)
		} else {
			*missing = append(*missing, name)
		}
	}
	return sortedNodes(out)
}

// decodeJoins restores the progress of joins that the graph still has.
// It finds a join by its sources and target, under present or former names.
func (p *Plan) decodeJoins(stored map[string][]string) [][]bool {
	if len(stored) == 0 {
		return nil
	}
	arrived := make([][]bool, len(p.Joins))
	for i := range p.Joins {
		j := &p.Joins[i]
		for key, sources := range stored {
			if p.currentJoinKey(key) != joinKey(j.Sources, j.Target) {
				continue
			}
			for _, name := range sources {
				if at, ok := slices.BinarySearch(j.Sources, p.current(name)); ok {
					if arrived[i] == nil {
						arrived[i] = make([]bool, len(j.Sources))
					}
					arrived[i][at] = true
				}
			}
		}
	}
	return arrived
}

// currentJoinKey returns the key of a stored join under the present names of its nodes.
func (p *Plan) currentJoinKey(stored string) string {
	list, target, ok := strings.Cut(stored, "]→")
	rest, opened := strings.CutPrefix(list, "[")
	if len(p.Renamed) == 0 || !ok || !opened {
		return stored
	}
	var sources []string
	for rest != "" {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return stored
		}
		name, _ := strconv.Unquote(quoted)
		sources = append(sources, p.current(name))
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	slices.Sort(sources)
	return joinKey(sources, p.current(target))
}

// encodeSend returns the stored form of a Send.
func (p *Plan) encodeSend(node string, writes []state.Write, over bool) (storedSend, error) {
	out := storedSend{Node: node, Over: over}
	for _, w := range writes {
		k, data, ok, err := p.Schema.EncodeWrite(w.Write)
		if err != nil {
			return out, err
		}
		if ok {
			out.Writes = append(out.Writes, storedWrite{Channel: w.Channel(), Kind: k, Data: data})
		}
	}
	return out, nil
}

// decodeSend decodes a Send. If the graph does not have the node, the task gets a [Node]
// without a function, so that it keeps its place among the sent tasks.
func (p *Plan) decodeSend(tx *statecore.Tx, stored storedSend) (sentTask, error) {
	n := p.byName[p.current(stored.Node)]
	if n == nil {
		n = &Node{Name: stored.Node}
	}
	var writes []state.Write
	for _, w := range stored.Writes {
		write, err := p.Schema.DecodeWrite(w.Channel, w.Kind, w.Data)
		if err != nil {
			return sentTask{}, err
		}
		writes = append(writes, state.Write{Write: write})
	}
	return newSentTask(tx, n, writes, stored.Over), nil
}

// newSentTask makes the task of a Send. It uses tx to compute the state of the task.
func newSentTask(tx *statecore.Tx, n *Node, writes []state.Write, over bool) sentTask {
	s := sentTask{node: n, writes: writes, over: over}
	s.view, s.err = statecore.Only(tx, writes)
	return s
}
