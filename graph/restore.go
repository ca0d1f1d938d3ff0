package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// restore rebuilds the state of a checkpoint, what is due, and in a subgraph
// what it wrote for its parent.
func (r *run) restore(c *checkpoint.Checkpoint) error {
	rp := r.g.schema.Replay(nil)
	r.out, r.toParent = nil, nil
	r.size.reset()
	for _, d := range c.Lineage {
		if d.Snapshot {
			r.size.reset()
		}
		r.size.add(d.Changes)
		if r.parent != nil && d.Source == checkpoint.Input {
			rp.Import(r.parent.view())
			r.out, r.toParent = nil, nil
		}
		for _, ch := range d.Changes {
			if err := r.replay(rp, ch, d.Snapshot); err != nil {
				return fmt.Errorf("checkpoint %s: %w", d.ID, err)
			}
		}
	}
	front, err := r.g.decode(c.Control)
	if err != nil {
		return fmt.Errorf("checkpoint %s (version %q): %w", c.ID, c.Version, err)
	}
	if r.pending, err = r.g.readPending(c.Writes); err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.ID, err)
	}
	if len(r.pending.missing) > 0 {
		more := *front.aside()
		more.missing = slices.Concat(more.missing, r.pending.missing)
		front.put(more)
	}
	r.view, r.front, r.step = rp.View(), front, c.Step
	r.cur, r.before, r.source = c.ID, c.Parent, c.Source
	r.settles = len(c.Writes) > 0
	return nil
}

func (r *run) replay(rp *state.Replayer, ch checkpoint.Change, snapshot bool) error {
	if strings.HasPrefix(ch.Channel, "$") {
		return r.replayOut(ch)
	}
	err := rp.Apply(ch.Channel, state.Kind(ch.Kind), ch.Data)
	if errors.Is(err, state.ErrUnknownChannel) {
		if r.root.logger != nil {
			r.root.logger.Warn("graph: a stored channel is not in the graph and was passed over",
				"graph", r.g.name, "thread", r.root.thread, "channel", ch.Channel)
		}
		return nil
	}
	if err != nil || snapshot || r.parent == nil {
		return err
	}
	if s := r.g.schema; s.Shared(ch.Channel, r.parent.run.g.schema) && s.Echoes(ch.Channel) {
		w, err := s.Echo(ch.Channel, state.Kind(ch.Kind), ch.Data)
		r.out = append(r.out, w)
		return err
	}
	return nil
}

func (r *run) replayOut(ch checkpoint.Change) error {
	if r.parent == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(ch.Channel, changeOut); ok {
		w, err := r.g.schema.DecodeWrite(name, state.Kind(ch.Kind), ch.Data)
		r.out = append(r.out, w)
		return err
	}
	var stored storedParent
	if err := json.Unmarshal(ch.Data, &stored); err != nil {
		return err
	}
	w, err := r.parentWrite(stored)
	r.toParent = append(r.toParent, w)
	return err
}
