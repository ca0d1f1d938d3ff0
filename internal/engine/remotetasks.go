package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

// RunTasks runs tasks that the run of another process passed to its executor.
// It stores the outcome of each task as pending writes of the checkpoint.
// It does not run a task that has a result or a failure already.
func (p *Plan) RunTasks(ctx context.Context, o *Options, s *TaskSet) error {
	r := newRun(p, o)
	r.id, r.log = s.Run, newRunLog(Sync)
	r.makeContexts(ctx)
	defer r.ctx.close()
	r.stepCtx = r.nodeCtx
	r.log.setStore(o.Store)
	r.pack = packResult
	c, err := o.Store.Get(ctx, checkpoint.Key{Thread: s.Thread})
	if err != nil {
		return err
	}
	if c.ID != s.Checkpoint {
		return fmt.Errorf("tasks %q of checkpoint %s are no longer due, because the newest checkpoint is %s: %w",
			s.Tasks, s.Checkpoint, c.ID, checkpoint.ErrConflict)
	}
	r.only = make(map[string]bool, len(s.Tasks))
	for _, id := range s.Tasks {
		r.only[p.currentTask(id)] = true
	}
	c.Writes = slices.DeleteFunc(c.Writes, func(w checkpoint.Write) bool { // the results of other tasks may be many
		return w.Task != "" && !r.only[p.currentTask(w.Task)]
	})
	r.head = c.ID
	if err := r.load(&c); err != nil {
		return err
	}
	r.step++
	tasks := r.tasks()
	others, err := r.otherTasks(tasks, s)
	if err != nil {
		return err
	}
	return errors.Join(r.runHere(tasks, others), r.log.writer.close(r.storeCtx), r.ctx.cause())
}

// otherTasks reports for each task whether RunTasks leaves it out.
// It returns an error if a task of the set is not due in this version of the graph.
func (r *run) otherTasks(tasks []Task, s *TaskSet) ([]bool, error) {
	others, found := make([]bool, len(tasks)), 0
	for i := range tasks {
		t := &tasks[i]
		if others[i] = !r.only[t.ID()]; others[i] || t.node.Run == nil {
			continue
		}
		found++
		if t.err != nil {
			return nil, t.err
		}
		others[i] = t.saved != nil && t.saved.failure != ""
	}
	if found < len(r.only) {
		return nil, fmt.Errorf("%w: this version %q of graph %q has %d of the %d due tasks of node %q; version %q passed them on",
			ErrUnknownNode, r.Version, r.plan.Name, found, len(r.only), s.Node, s.Version)
	}
	return others, nil
}

// packResult returns the pending writes of a result as one pending write, also in a subgraph.
// So the results of two processes that ran the task cannot mix: a store replaces the write as a whole.
func packResult(writes []checkpoint.Write) []checkpoint.Write {
	parts := make([]checkpoint.Change, len(writes))
	for i, w := range writes {
		parts[i] = checkpoint.Change{Channel: w.Channel, Kind: w.Kind, Data: w.Data}
	}
	w := writes[0]
	w.Channel, w.Kind = mark.Result, mark.EndOfResult
	w.Data, _ = json.Marshal(parts) // it has only text, numbers and bytes, which can always be encoded
	return []checkpoint.Write{w}
}
