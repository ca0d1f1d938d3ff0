package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// restore makes a stored checkpoint the current one of the run.
// It restores the state, the frontier and the pending writes.
// In a subgraph, it also restores the writes of the call for the parent.
func (r *run) restore(c *checkpoint.Checkpoint) error {
	if err := r.replay(c); err != nil {
		return err
	}
	ctl, err := readControl(c.Control)
	if err != nil {
		return fmt.Errorf("checkpoint %s (version %q): %w", c.ID, c.Version, err)
	}
	if r.pending, err = r.plan.decodePending(c.Writes); err != nil {
		return fmt.Errorf("checkpoint %s: %w", c.ID, err)
	}
	r.pending.relocate(r.plan, r.path)
	if r.parent == nil {
		maps.Copy(r.pending.answers, r.answers) // the answers of the caller take precedence
		r.answers = r.pending.answers
		r.findUnread()
	}
	front, err := r.plan.decodeControl(&ctl, func(id string) bool {
		if t := r.pending.tasks[id]; t != nil && (t.done || t.asked && r.stillWaits(t.pauses)) {
			return false
		}
		return r.only == nil || r.only[id]
	})
	if err != nil {
		return fmt.Errorf("checkpoint %s (version %q): %w", c.ID, c.Version, err)
	}
	r.warnLostJoins(ctl.Joins)
	front.missing = append(front.missing, r.pending.missing...)
	r.front, r.step = front, c.Step
	r.hasPending = len(c.Writes) > 0
	if r.parent == nil {
		r.origin = ctl.Origin
	}
	r.setCurrent(c, c.Time)
	return nil
}

// findUnread records in r.given the questions whose answers no node has read, as far as the pending writes
// show. If a task has failed, its node may have read an answer, unless the task failed because it refused an
// answer.
func (r *run) findUnread() {
	if r.given == nil {
		r.given = make(map[string]bool, len(r.pending.questions))
	}
	for id, q := range r.pending.questions {
		if t := r.pending.tasks[q.task]; !t.failed || t.asksAgain {
			r.given[id] = true
		}
	}
}

// warnLostJoins logs each stored join that the graph does not have any more.
// The progress of such a join is ignored.
func (r *run) warnLostJoins(stored map[string][]string) {
	if r.Logger == nil {
		return
	}
	for key, arrived := range stored {
		known := slices.ContainsFunc(r.plan.Joins, func(j Join) bool {
			return joinKey(j.Sources, j.Target) == r.plan.currentJoinKey(key)
		})
		if !known {
			r.Logger.Warn("graph: a join that the thread waits for is not in the graph and is ignored; if its nodes were renamed, say so in the graph's Migrations; if its sources changed, schedule its target with Goto",
				"graph", r.plan.Name, "thread", r.thread, "join", key, "arrived", arrived)
		}
	}
}

// warnMissing logs each node that is due and that the graph does not have.
func (r *run) warnMissing() {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(r.front.unknown()))) {
		if r.Logger != nil {
			r.Logger.Warn("graph: a thread is to run a node that is not in the graph; if it was renamed, say so in the graph's Migrations",
				"graph", r.plan.Name, "thread", r.thread, "node", name)
		}
	}
}

// replay rebuilds the state from the lineage of a checkpoint.
// It also restores the counts of the snapshot policy and the writes for the parent.
func (r *run) replay(c *checkpoint.Checkpoint) error {
	rp := r.plan.Schema.Replay(nil)
	r.shared, r.toParent = nil, nil
	r.snapshots.reset()
	var ignored []string
	for _, d := range c.Lineage {
		if d.Snapshot {
			r.snapshots.reset()
		}
		r.snapshots.add(d.Changes)
		if r.parent != nil && d.Source == checkpoint.Input {
			rp.Import(r.parent.view, r.parent.node.Subgraph.Private) // a call begins with the parent's values of shared channels
			r.shared, r.toParent = nil, nil
		}
		snapshot := d.Snapshot
		for _, ch := range d.Changes {
			if ch.Channel == changesFollow {
				snapshot = false
				continue
			}
			if err := r.replayChange(rp, ch, snapshot, &ignored); err != nil {
				return fmt.Errorf("checkpoint %s: %w", d.ID, err)
			}
		}
	}
	for _, channel := range ignored {
		if r.Logger != nil {
			r.Logger.Warn("graph: a stored channel is not in the graph and is ignored; if it was renamed or removed, say so in the graph's Migrations",
				"graph", r.plan.Name, "thread", r.thread, "channel", channel)
		}
	}
	r.view = rp.View()
	return nil
}

// replayChange applies a stored change. If the graph does not have its channel, it adds the name to ignored.
func (r *run) replayChange(rp *statecore.Replayer, ch checkpoint.Change, snapshot bool, ignored *[]string) error {
	if strings.HasPrefix(ch.Channel, "$") {
		return r.replayParentWrite(ch)
	}
	k := statecore.Kind(ch.Kind)
	err := rp.Apply(ch.Channel, k, ch.Data)
	if errors.Is(err, statecore.ErrUnknownChannel) {
		if !slices.Contains(*ignored, ch.Channel) && !r.plan.Schema.Dropped(ch.Channel) {
			*ignored = append(*ignored, ch.Channel)
		}
		return nil
	}
	if err != nil || snapshot || r.parent == nil {
		return err
	}
	if s := r.plan.Schema; r.shares(ch.Channel) && s.ChangesAreWrites(ch.Channel) {
		w, err := s.WriteFromChange(ch.Channel, k, ch.Data)
		r.shared = append(r.shared, state.Write{Write: w})
		return err
	}
	return nil
}

// replayParentWrite restores a write for the parent.
func (r *run) replayParentWrite(ch checkpoint.Change) error {
	if r.parent == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(ch.Channel, changeShared); ok {
		w, err := r.plan.Schema.DecodeWrite(name, statecore.Kind(ch.Kind), ch.Data)
		r.shared = append(r.shared, state.Write{Write: w})
		return err
	}
	var stored storedParent
	if err := json.Unmarshal(ch.Data, &stored); err != nil {
		return err
	}
	w, err := r.decodeParentWrite(stored)
	r.toParent = append(r.toParent, w)
	return err
}

// load restores a checkpoint of the outermost graph.
// It also applies the writes and targets that callers have added to the checkpoint.
func (r *run) load(c *checkpoint.Checkpoint) error {
	if err := r.restore(c); err != nil {
		return err
	}
	restored := r.front
	r.restored = &restored
	own := r.pending.tasks[""]
	if own == nil {
		return nil
	}
	r.addTargets(own)
	return r.amend(own.writes)
}

// addTargets sets the frontier to the restored frontier with the targets of all callers.
// A later call replaces the result of an earlier one. So the due tasks are the same
// if a crash occurs between two calls, and the next run adds all stored targets at once.
func (r *run) addTargets(callers *savedTask) {
	r.front = r.restored.with(routed{targets: callers.targets, sends: callers.sends})
}
