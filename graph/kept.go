package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// Marks are the channels of pending writes that are the engine's own.
const (
	markDone   = "$done"   // the task finished
	markGoto   = "$goto"   // a target: a node's name
	markSend   = "$send"   // a target: a storedSend
	markParent = "$parent" // a write for the parent graph
	markMemory = "$memory" // a persistent subgraph's new head
	markAsk    = "$ask"    // what the task waits for; replaces the one before
	markAnswer = "$answer" // the answer to a question
	markOnce   = "$once"   // the result of a side effect
	markStop   = "$stop"   // where a run stopped: its static pauses
	markError  = "$error"  // the text of the last failure
	markVoid   = "$void"   // the results so far do not count
)

// Marks that replace the one before have an index of their own.
const (
	indexAsk   = -1
	indexError = -2
	indexVoid  = -3
	indexStop  = -4
)

// kept is what the pending writes of a checkpoint say of one task.
type kept struct {
	done     bool
	writes   state.Update
	routes   routes
	toParent []storedParent
	memory   map[string]string
	asked    bool
	pauses   []Pause
	once     map[string]json.RawMessage
	failure  string
	next     int // the first free index
}

// storedParent is a write for the parent graph, as it is stored: the parent
// decodes it with its own channels.
type storedParent struct {
	Goto  string        `json:"goto,omitempty"`
	Send  *storedSend   `json:"send,omitempty"`
	Write *storedWrite  `json:"write,omitempty"`
	Up    *storedParent `json:"up,omitempty"` // for the parent's parent
}

type storedAnswer struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value,omitempty"`
	// Refused takes an answer back that the node could not read.
	Refused bool `json:"refused,omitempty"`
}

type storedOnce struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// pending is all pending writes of a checkpoint. The caller of the run is the
// task without an id.
type pending struct {
	tasks   map[string]*kept
	answers map[string]json.RawMessage // by question
	void    map[string]int             // per task, the results below this index do not count
	missing []string                   // targets that the graph no longer has
	stopped bool                       // a run came to a stop here, in good order
	stops   []Pause                    // the static pauses that it stopped at
}

func (p *pending) task(id string) *kept {
	k := p.tasks[id]
	if k == nil {
		k = &kept{}
		if p.tasks == nil {
			p.tasks = map[string]*kept{}
		}
		p.tasks[id] = k
	}
	return k
}

// begun reports whether a run stopped at the checkpoint, or in the superstep
// after it, so that the next one goes on with that and does not come to it anew.
func (p *pending) begun() bool { return p != nil && (p.stopped || p.tried()) }

// tried reports whether a task of the superstep left something.
func (p *pending) tried() bool {
	for id := range p.tasks {
		if id != "" {
			return true
		}
	}
	return false
}

// readPending sorts out the pending writes of a checkpoint.
func (g *Graph) readPending(writes []checkpoint.Write) (*pending, error) {
	p := &pending{answers: map[string]json.RawMessage{}}
	for _, w := range writes {
		if w.Channel == markVoid {
			if err := json.Unmarshal(w.Data, &p.void); err != nil {
				return nil, err
			}
		}
	}
	for _, w := range writes {
		k := p.task(w.Task)
		k.next = max(k.next, w.Index+1)
		if isResult(w) && w.Index < p.void[w.Task] {
			continue
		}
		if err := g.readWrite(p, k, w); err != nil {
			return nil, fmt.Errorf("pending write %d of task %q: %w", w.Index, w.Task, err)
		}
	}
	return p, nil
}

// isResult tells what a task returned from the other things that are kept of it.
func isResult(w checkpoint.Write) bool {
	switch w.Channel {
	case markAsk, markAnswer, markOnce, markError, markVoid, markStop:
		return false
	}
	return w.Task != ""
}

func (g *Graph) readWrite(p *pending, k *kept, w checkpoint.Write) error {
	switch w.Channel {
	case markDone:
		k.done = true
	case markVoid:
	case markGoto:
		k.routes.nodes = append(k.routes.nodes, g.find([]string{string(w.Data)}, &p.missing)...)
	case markSend:
		return g.readSend(p, k, w.Data)
	case markParent:
		var s storedParent
		err := json.Unmarshal(w.Data, &s)
		k.toParent = append(k.toParent, s)
		return err
	case markMemory:
		return json.Unmarshal(w.Data, &k.memory)
	case markAsk:
		k.asked = true
		return json.Unmarshal(w.Data, &k.pauses)
	case markAnswer:
		var a storedAnswer
		err := json.Unmarshal(w.Data, &a)
		if p.answers[a.ID] = a.Value; a.Refused {
			delete(p.answers, a.ID)
		}
		return err
	case markStop:
		p.stopped = true
		return json.Unmarshal(w.Data, &p.stops)
	case markOnce:
		var o storedOnce
		err := json.Unmarshal(w.Data, &o)
		k.remember(o)
		return err
	case markError:
		k.failure = string(w.Data)
	default:
		write, err := g.schema.DecodeWrite(w.Channel, state.Kind(w.Kind), w.Data)
		k.writes = append(k.writes, write)
		return err
	}
	return nil
}

func (g *Graph) readSend(p *pending, k *kept, data []byte) error {
	var stored storedSend
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	if g.find([]string{stored.Node}, &p.missing) == nil {
		return nil
	}
	s, err := g.decodeSend(stored)
	k.routes.sends = append(k.routes.sends, s)
	return err
}

func (k *kept) remember(o storedOnce) {
	if k.once == nil {
		k.once = map[string]json.RawMessage{}
	}
	k.once[o.Key] = o.Value
}
