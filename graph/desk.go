package graph

import (
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// A desk is what a run works with and leaves for another run of the graph. What
// is on it is the engine's alone: no node, store or reader keeps any of it.
type desk struct {
	tx      *state.Tx
	list    []checkpoint.Change // of the checkpoint under way, where the store is waited for
	data    []byte              // of its changes
	control []byte              // its Control
	least   []live              // see size
	collect state.Emit          // appends to list
	views   []state.View        // of the sent tasks of this superstep
	crew    crew
}

// desks are those of a graph that no run uses.
type desks struct{ sync.Pool }

func newDesks(schema *state.Schema, empty state.View) *desks {
	return &desks{sync.Pool{New: func() any {
		d := &desk{tx: schema.Begin(empty)}
		d.collect = func(channel string, k state.Kind, data []byte) {
			n := len(d.list)
			if n == cap(d.list) || d.list[:n+1][n].Channel != channel {
				d.list = append(d.list, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
				return
			}
			d.list = d.list[:n+1] // what it holds of the name stays
			d.list[n].Kind, d.list[n].Data = uint8(k), data
		}
		return d
	}}}
}

// work returns the run's desk.
func (r *run) work() *desk {
	if r.desk == nil {
		r.desk = r.g.desks.Get().(*desk)
		if r.size.least == nil {
			r.size.least = r.desk.least
		}
	}
	return r.desk
}

// tidy gives the run's desk back. A run that failed keeps it, as its store may
// have left a call behind.
func (r *run) tidy() {
	const most = 64 << 10 // what is larger is not worth keeping
	d := r.desk
	if d == nil {
		return
	}
	r.desk = nil
	if cap(d.data) > most || cap(d.list) > most/64 || cap(d.control) > most || cap(d.views) > most/16 {
		return
	}
	d.tx.Clear()
	clear(d.views[:cap(d.views)])
	d.crew.leave()
	clear(d.list[:cap(d.list)])
	d.least, r.size.least = r.size.least[:0], nil
	r.g.desks.Put(d)
}

// describe gives a checkpoint what changed and what is due, in memory of the desk. A slice that did not move is not
// written again: the collector would have to look at each.
func (d *desk) describe(c *checkpoint.Checkpoint, r *run, tx *state.Tx, front *frontier) error {
	d.list = d.list[:0]
	if len(r.edits) > 0 {
		d.list = append(d.list, r.edits...)
	}
	if tx != nil {
		data, err := tx.AppendChanges(d.data[:0], d.collect)
		if err != nil {
			return err
		}
		if cap(data) != cap(d.data) {
			d.data = data
		}
	}
	control, err := r.g.encode(front, d.control[:0])
	if cap(control) != cap(d.control) {
		d.control = control
	}
	c.Changes, c.Control = d.list, control
	return err
}
