package graph

import (
	"encoding/json"
	"slices"
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
	c := checkpoint.Checkpoint{
		Key:    checkpoint.Key{Thread: r.root.thread, Namespace: r.ns},
		Parent: r.cur, Step: r.step, Source: source, Run: r.root.id, Version: r.root.version,
		Metadata: r.root.metadata, Settles: r.settles || r.touched.Load(),
	}
	if err := r.describe(&c, tx, tasks, front); err != nil {
		return err
	}
	if err := r.snapshot(&c, view, source); err != nil {
		return err
	}
	if err := r.journal.put(r.ctx, &c); err != nil {
		return err
	}
	r.cur, r.before, r.settles = c.ID, c.Parent, false
	// What stays is not written again: a pointer costs where the collector marks, and an atomic store always.
	if r.source != source {
		r.source = source
	}
	if r.edits != nil {
		r.edits = nil
	}
	if r.touched.Load() {
		r.touched.Store(false)
	}
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

// describe adds what changed and what is due. Where the store is waited for, both are the desk's: it has copied
// what it wants when the next commit comes.
func (r *run) describe(c *checkpoint.Checkpoint, tx *state.Tx, tasks []task, front *frontier) (err error) {
	if r.journal.mode == Sync {
		err = r.work().describe(c, r, tx, front)
	} else {
		c.Changes = slices.Clone(r.edits)
		if tx != nil {
			c.Changes, err = changesOf(tx, c.Changes)
		}
		if err == nil {
			c.Control, err = r.g.encode(front, nil)
		}
	}
	if err != nil || r.parent == nil || tx == nil {
		return err
	}
	c.Changes, err = r.handOver(c.Changes, tasks)
	return err
}

// handOver appends what the parent of a subgraph will need if this process does not live to hand it over.
func (r *run) handOver(list []checkpoint.Change, tasks []task) ([]checkpoint.Change, error) {
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
