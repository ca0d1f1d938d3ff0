package graph

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// A Thread is a handle on a conversation, job or session that a graph stores under
// an id. It is cheap, immutable and safe for concurrent use. One run at a time holds
// a thread; [RunOptions] say what a second run does.
type Thread struct {
	g     *Graph
	id    string
	at    string
	tasks []string // the path of a subgraph; see SubgraphThread
}

// Thread returns a handle on the thread with this id. It need not exist yet. A store does
// not know which graph began a thread, so graphs that share a store need different ids.
func (g *Graph) Thread(id string) *Thread { return &Thread{g: g, id: id} }

// ID returns the thread's id.
func (t *Thread) ID() string { return t.id }

// At returns a handle on the thread at a checkpoint. A run on the handle begins a
// branch of the thread: it continues from the checkpoint, without the results and
// questions that were stored after it. The abandoned branch stays in the history.
// The handle stays at its checkpoint, so continue the branch with the handle of the
// thread. With an empty id, At returns a handle on the newest checkpoint. With [Start], a
// run on the handle begins a branch with an empty state, as if the thread were new.
func (t *Thread) At(checkpoint string) *Thread {
	c := *t
	c.at = checkpoint
	return &c
}

// With returns a handle on the thread whose runs have these options. They replace the
// options of t.
func (t *Thread) With(o RunOptions) *Thread {
	c := *t
	c.g = t.g.With(o)
	return &c
}

// Invoke runs the graph until nothing is due or the run pauses, and returns the
// state of the thread. The writes decide how the run begins:
//
//   - Writes to channels are new input: a turn begins at the graph's entry. The
//     tasks and questions of an unfinished superstep are dropped; deferred nodes keep waiting.
//   - Answers, [Goto], [Send] or [Continue] make the thread resume where it is. If
//     there are also writes to channels, they edit its state first.
//   - Without writes the thread resumes: after a pause, after a failure, or where a
//     crash stopped it. A thread without a checkpoint is an [ErrNoInput].
//
// The error is a [RunError]. The snapshot returned with an error, if not nil, is the
// last stored state. When the context ends, Invoke still stores the results of
// finished tasks; this takes at most 10 seconds.
func (t *Thread) Invoke(ctx context.Context, writes ...state.Write) (*Snapshot, error) {
	return t.g.invoke(ctx, t, nil, writes)
}

// Stream is like [Thread.Invoke], and yields the events of the run. A superstep
// begins only when the events of the previous one have been read. No event is lost,
// memory is bounded, and a slow reader slows the run. Leaving the loop cancels the
// run and waits for its tasks. An error is the last pair; a pause is not an error.
// Each loop over the sequence is a new run. Use package graph/broadcast for several readers, or
// for a run that outlives its readers.
func (t *Thread) Stream(ctx context.Context, writes ...state.Write) iter.Seq2[Event, error] {
	return t.g.stream(ctx, t, writes)
}

// Snapshot returns the state of the thread. If a superstep is unfinished, the state
// has the writes of its finished tasks. For a handle from [Thread.At], Snapshot
// returns the checkpoint as it was stored, with every task due. A thread without a
// checkpoint is a [checkpoint.ErrNotFound].
func (t *Thread) Snapshot(ctx context.Context) (*Snapshot, error) {
	o, err := t.options()
	if err != nil {
		return nil, t.fail(err)
	}
	s, err := t.g.plan.Snapshot(ctx, o, t.tasks)
	return newSnapshot(s), t.fail(err)
}

// options returns the engine's options for the thread.
func (t *Thread) options() (*engine.Options, error) {
	switch {
	case t.g == nil:
		return nil, errNilGraph
	case t.g.opts.Checkpoints == nil:
		return nil, ErrNoStore
	case t.id == "":
		return nil, fmt.Errorf("%w: the thread has no id", checkpoint.ErrInvalid)
	}
	if err := t.g.run.check(t.g); err != nil {
		return nil, err
	}
	o := *t.g.options
	o.Store, o.Thread, o.At, o.Graph = t.g.opts.Checkpoints, t.id, t.at, t.g.plan
	return &o, nil
}

func (t *Thread) fail(err error) error {
	if err == nil {
		return nil
	}
	return &RunError{Graph: t.g.Name(), Thread: t.id, Err: err}
}

// Delete removes the thread with all its checkpoints. [RunOptions.Conflict] applies if
// a run holds the thread. A new thread with the same id has the same keys of [IdempotencyKey].
func (t *Thread) Delete(ctx context.Context) error {
	o, err := t.options()
	if err == nil && t.at != "" {
		err = fmt.Errorf("%w: the handle is at checkpoint %s, and Delete removes the whole thread; use a handle without At", checkpoint.ErrInvalid, t.at)
	}
	if err == nil {
		err = engine.DeleteThread(ctx, o)
	}
	return t.fail(err)
}

// A NodeUpdate is an edit of a thread on behalf of a node.
type NodeUpdate struct {
	// Node is the node that seems to have run: its successors are due afterwards. With
	// [Start] the graph's entry is due, with [End] nothing is.
	Node string
	// Update has the writes of the edit. [Goto] and [Send] are allowed in it if the
	// node may return them.
	Update state.Update
}

// Update edits the state of a thread as if a node had run and returned the writes.
// It adds a checkpoint, in which the successors of the node are due and nothing
// else. If a superstep is unfinished, the results of its finished tasks are applied
// first. An empty node means the node that ran or was updated last; if there were
// several, Update returns an [ErrAmbiguous]. On a handle from [Thread.At], Update
// edits that checkpoint and begins a branch.
//
// The open questions of the thread are dropped: a task that asked and is due again asks again, in the next
// run and under another id. To edit the state and keep the questions, pass the writes to a run, together
// with answers or [Continue].
func (t *Thread) Update(ctx context.Context, node string, writes ...state.Write) (*Snapshot, error) {
	return t.UpdateNodes(ctx, NodeUpdate{Node: node, Update: writes})
}

// UpdateNodes is [Thread.Update] for several nodes, as if they had run in one
// superstep, in the given order.
func (t *Thread) UpdateNodes(ctx context.Context, updates ...NodeUpdate) (*Snapshot, error) {
	o, err := t.options()
	if err != nil {
		return nil, t.fail(err)
	}
	edits := make([]engine.NodeUpdate, len(updates))
	for i, u := range updates {
		edits[i] = engine.NodeUpdate(u)
	}
	s, err := t.g.plan.Update(ctx, o, t.tasks, edits)
	return newSnapshot(s), t.fail(err)
}
