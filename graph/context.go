package graph

import (
	"context"
	"fmt"
	"time"
)

// taskKey finds the task in a node's context.
type taskKey struct{}

func taskOf(ctx context.Context) *task {
	t, _ := ctx.Value(taskKey{}).(*task)
	if t != nil && t.over.Load() {
		return nil // a goroutine that the node left behind
	}
	return t
}

// Running says where a node is running.
type Running struct {
	// Thread is the id of the thread; empty for a run without one.
	Thread string
	// Run is the id of the run.
	Run string
	// Graph and Node are their names; Task is the id of the task in its
	// superstep, and Path that of the subgraphs around it, as in [Place].
	Graph, Node, Task, Path string
	// Checkpoint is the id of the one that the superstep builds on.
	Checkpoint string
	// Step counts the thread's supersteps, inputs and updates.
	Step int
	// Attempt counts the runs of the node under [Retry], from 1.
	Attempt int
}

// FromContext says where the node of ctx is running, and whether ctx is that
// of a node.
func FromContext(ctx context.Context) (Running, bool) {
	t := taskOf(ctx)
	if t == nil {
		return Running{}, false
	}
	r := t.run
	return Running{
		Thread: r.root.thread, Run: r.root.id, Graph: r.g.name, Node: t.node.name, Task: t.id(),
		Path: r.path, Checkpoint: r.cur, Step: r.step, Attempt: attemptOf(ctx),
	}, true
}

// RemainingSteps returns how many supersteps the run may still begin after the
// current one. In a subgraph it counts the subgraph's own. Outside a node it
// is 0.
func RemainingSteps(ctx context.Context) int {
	t := taskOf(ctx)
	if t == nil {
		return 0
	}
	return t.run.opts.MaxSteps - t.run.done - 1
}

// IdempotencyKey returns a key for side effects of the node: the same whenever
// this task runs again, after a failure, a pause or a crash, and different for
// any other task. It is empty outside a node, and without a thread it is the
// same only within the run.
func IdempotencyKey(ctx context.Context) string {
	t := taskOf(ctx)
	if t == nil {
		return ""
	}
	r := t.run
	at := r.cur
	if at == "" {
		at = fmt.Sprintf("%s:%d", r.root.id, r.step)
	}
	return fmt.Sprintf("%s/%s@%s:%s", r.root.thread, r.ns, at, t.id())
}

// Emit gives a value to whoever reads the events of the run, as an [Emitted].
// It returns when the reader has taken it, so a slow reader slows the node. It
// may be called from any goroutine that the node waits for. Without a reader,
// or outside a node, it does nothing.
func Emit(ctx context.Context, value any) {
	t := taskOf(ctx)
	if t == nil {
		return
	}
	beat(ctx, true)
	if rd := t.run.root.reader; rd != nil {
		rd.post(Emitted{Place: t.placeAt(time.Now()), Value: value})
	}
}

// Heartbeat tells [IdleTimeout] that the node is alive. [Emit] does so too.
func Heartbeat(ctx context.Context) { beat(ctx, false) }
