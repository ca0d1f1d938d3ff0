package engine

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
)

// Snapshot reads the state of a thread. With tasks, it reads the subgraph that
// these tasks, outermost first, run.
func (p *Plan) Snapshot(ctx context.Context, o *Options, tasks []string) (*Snapshot, error) {
	r := newRun(p, o)
	at := o.At
	if len(tasks) > 0 {
		at = "" // the checkpoint is the subgraph's
	}
	c, err := o.Store.Get(ctx, checkpoint.Key{Thread: o.Thread, ID: at})
	if err != nil {
		return nil, err
	}
	if at != "" {
		c.Writes = nil
	}
	if err := r.load(&c); err != nil {
		return nil, err
	}
	for i, id := range tasks {
		read := ""
		if i == len(tasks)-1 {
			read = o.At
		}
		if r, err = r.inner(ctx, o.Store, id, read); err != nil {
			return nil, err
		}
	}
	return r.snapshotOfCheckpoint(), nil
}

// Namespace returns where the subgraph that these tasks run keeps its checkpoints.
func (p *Plan) Namespace(ctx context.Context, o *Options, tasks []string) (string, error) {
	r := newRun(p, o)
	c, err := o.Store.Get(ctx, checkpoint.Key{Thread: o.Thread})
	if err == nil {
		err = r.load(&c)
	}
	for _, id := range tasks {
		if err != nil {
			break
		}
		r, err = r.inner(ctx, o.Store, id, "")
	}
	if err != nil {
		return "", err
	}
	return r.ns, nil
}

// inner restores the subgraph that one of the run's tasks runs, at its newest
// checkpoint or another one.
func (r *run) inner(ctx context.Context, store checkpoint.Store, id, at string) (*run, error) {
	tasks := r.tasks()
	var task *Task
	for i := range tasks {
		if tasks[i].ID() == id && tasks[i].node.Subgraph != nil {
			task = &tasks[i]
		}
	}
	if task == nil {
		return nil, fmt.Errorf("no due task %q runs a subgraph: %w", id, checkpoint.ErrNotFound)
	}
	in := task.subgraphRun(ctx)
	var (
		c   checkpoint.Checkpoint
		err error
	)
	for _, name := range append([]string{id}, task.scope.plan.formerTasks(task.node.Name, task.sent)...) {
		in.ns = task.namespaceAs(name)
		if c, err = store.Get(ctx, checkpoint.Key{Thread: r.thread, Namespace: in.ns, ID: at}); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the subgraph of task %q: %w", id, err)
	}
	if at != "" {
		c.Writes = nil
	}
	return in, in.restore(&c)
}
