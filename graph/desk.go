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
	put     checkpoint.Checkpoint // the one under way, where the store is waited for
	data    []byte                // of its changes
	least   []live                // see size
	list    []checkpoint.Change   // what collect has gathered
	collect state.Emit
	sending *state.Tx    // makes the states of sent tasks; nil until there are some
	views   []state.View // theirs, of this superstep
	crew    crew
}

// desks are those of a graph that no run uses.
type desks struct{ sync.Pool }

func newDesks(schema *state.Schema, empty state.View) *desks {
	return &desks{sync.Pool{New: func() any {
		d := &desk{tx: schema.Begin(empty)}
		d.collect = func(channel string, k state.Kind, data []byte) {
			d.list = append(d.list, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
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
	if cap(d.data) > most || cap(d.put.Changes) > most/64 || cap(d.put.Control) > most || cap(d.views) > most/16 {
		return
	}
	d.tx.Clear()
	if d.sending != nil {
		d.sending.Clear()
	}
	clear(d.views[:cap(d.views)])
	d.crew.leave()
	changes := d.put.Changes[:cap(d.put.Changes)]
	clear(changes)
	d.put = checkpoint.Checkpoint{Changes: changes[:0], Control: d.put.Control[:0]}
	d.least, r.size.least = r.size.least[:0], nil
	r.g.desks.Put(d)
}

// changes appends what a transaction did to a list. The data of the changes is
// the desk's.
func (d *desk) changes(tx *state.Tx, list []checkpoint.Change) (_ []checkpoint.Change, err error) {
	d.list = list
	d.data, err = tx.AppendChanges(d.data[:0], d.collect)
	list, d.list = d.list, nil
	return list, err
}
