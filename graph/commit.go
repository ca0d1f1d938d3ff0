package graph

import (
	"encoding/json"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

func (r *run) key() checkpoint.Key {
	return checkpoint.Key{Thread: r.root.thread, Namespace: r.ns, ID: r.cur}
}

// commit stores a superstep, an input or an edit as a new checkpoint.
func (r *run) commit(tx *state.Tx, view state.View, tasks []task, front *frontier, source checkpoint.Source) error {
	if r.journal == nil {
		return nil
	}
	if err := r.root.ctx.cause(); err != nil {
		return err
	}
	d := r.work()
	c := &d.put // the store has copied what it wants of the last one
	if r.journal.mode != Sync {
		c, d = new(checkpoint.Checkpoint), nil
	}
	list, control := c.Changes[:0], c.Control[:0]
	*c = checkpoint.Checkpoint{
		Key:    checkpoint.Key{Thread: r.root.thread, Namespace: r.ns, ID: r.journal.id()},
		Parent: r.cur, Step: r.step, Source: source, Run: r.root.id, Version: r.root.version,
		Metadata: r.root.metadata, Settles: r.settles || r.touched.Load(), Changes: append(list, r.edits...),
	}
	var err error
	if c.Control, err = r.g.encode(front, control); err != nil {
		return err
	}
	if tx != nil {
		if c.Changes, err = r.changes(tx, d, c.Changes, tasks); err != nil {
			return err
		}
	}
	if err := r.snapshot(c, view, source); err != nil {
		return err
	}
	if err := r.journal.put(r.ctx, c); err != nil {
		return err
	}
	r.cur, r.before, r.source = c.ID, c.Parent, source
	r.settles, r.edits = false, nil
	r.touched.Store(false)
	if r.parent == nil || source != checkpoint.Input {
		r.tell()
	}
	return nil
}

// tell says that the current checkpoint was stored. That of a subgraph's call
// is told of behind RunStarted.
func (r *run) tell() {
	if r.root.reader == nil || r.journal == nil || r.journal.mode == Exit {
		return
	}
	r.now = time.Now()
	r.emit(Checkpointed{Place: r.placeAt(r.now), ID: r.cur, Parent: r.before})
}

// changes appends what a transaction did, in stored form; in a subgraph also
// what the parent will need if this process does not live to hand it over. With
// a desk, the data is the desk's.
func (r *run) changes(tx *state.Tx, d *desk, list []checkpoint.Change, tasks []task) ([]checkpoint.Change, error) {
	var err error
	if d != nil {
		list, err = d.changes(tx, list)
	} else {
		list, err = changesOf(tx, list)
	}
	if err != nil || r.parent == nil {
		return list, err
	}
	outer := r.parent.run.g.schema
	for i := range tasks {
		for _, w := range tasks[i].writes {
			name := w.Channel()
			if name == "" || !r.g.schema.Shared(name, outer) || r.g.schema.Echoes(name) {
				continue
			}
			k, data, ok, err := r.g.schema.EncodeWrite(w)
			if err != nil {
				return nil, err
			}
			if ok {
				list = append(list, checkpoint.Change{Channel: changeOut + name, Kind: uint8(k), Data: data})
			}
		}
		for _, w := range tasks[i].seldom().toParent {
			stored, err := r.storeParent(w)
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(stored)
			if err != nil {
				return nil, err
			}
			list = append(list, checkpoint.Change{Channel: changeParent, Data: data})
		}
	}
	return list, nil
}

// changesOf appends what a transaction did to a list, with memory of its own.
func changesOf(tx *state.Tx, list []checkpoint.Change) ([]checkpoint.Change, error) {
	err := tx.Changes(func(channel string, k state.Kind, data []byte) {
		list = append(list, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
	})
	return list, err
}

// Changes of a subgraph that are not to its state.
const (
	changeOut    = "$out:"   // with a channel's name: an update for the parent's
	changeParent = "$parent" // a storedParent
)
