package graph

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// A Thread is a handle on a conversation, job or session that a graph keeps under
// an id. It is cheap, immutable and safe for concurrent use. One run at a time holds
// a thread; [RunOptions] say what a second one does.
type Thread struct {
	g     *Graph
	id    string
	at    string
	tasks []string // of a subgraph; see SubgraphThread
}

// Thread returns a handle on the thread with this id. It need not exist yet.
func (g *Graph) Thread(id string) *Thread { return &Thread{g: g, id: id} }

// ID returns the thread's id.
func (t *Thread) ID() string { return t.id }

// At returns a handle on the thread at a checkpoint. A run on it begins a branch of
// the thread there: stored results and questions of its superstep are left behind,
// and the thread continues from there. The abandoned branch stays in the history.
// The handle stays at that checkpoint: later runs use the thread's own handle. With
// an empty id, At returns the handle of the newest checkpoint.
func (t *Thread) At(checkpoint string) *Thread {
	c := *t
	c.at = checkpoint
	return &c
}

// With returns a handle whose runs have these options instead of those of t.
func (t *Thread) With(o RunOptions) *Thread {
	c := *t
	c.g = t.g.With(o)
	return &c
}

// Invoke runs the graph until nothing is due, or until it pauses, and returns where
// the thread is then. What it does depends on the writes:
//
//   - Writes to channels are new input: a turn begins at the graph's entry. Work
//     that an unfinished superstep has left is dropped; deferred nodes keep waiting.
//   - Answers, [Goto], [Send] or [Continue] make the thread resume where it is;
//     writes to channels beside them edit its state first.
//   - Without writes the thread resumes: after a pause, after a failure, or where a
//     crash left it. Without a checkpoint that is an [ErrNoInput].
//
// An error is a [RunError]. The snapshot beside it, if not nil, is the last state
// that was stored. When the context ends, what has finished by then is still
// stored; that takes at most 10 seconds.
func (t *Thread) Invoke(ctx context.Context, writes ...state.Write) (*Snapshot, error) {
	return t.g.invoke(ctx, t, nil, writes)
}

// Stream is [Thread.Invoke] with its events. The run advances as its events are
// read: a superstep begins when the events of the one before have been taken. So no
// event is lost, memory does not grow, and a slow reader slows the run. Leaving the
// loop cancels the run and waits for its tasks. An error is the last pair; a pause
// is not an error. Each loop over the sequence is a run. A [Broadcast] gives a run
// several readers, or lets it outlive them.
func (t *Thread) Stream(ctx context.Context, writes ...state.Write) iter.Seq2[Event, error] {
	return t.g.stream(ctx, t, writes)
}

// Snapshot returns the state of the thread. While a superstep is unfinished it has
// the writes of its finished tasks. Of a handle from [Thread.At] it returns the
// checkpoint as it was stored, with every task due. A thread without a checkpoint
// is a [checkpoint.ErrNotFound].
func (t *Thread) Snapshot(ctx context.Context) (*Snapshot, error) {
	o, err := t.options()
	if err != nil {
		return nil, t.fail(err)
	}
	s, err := t.g.plan.Snapshot(ctx, o, t.tasks)
	return newSnapshot(s), t.fail(err)
}

// options returns what the engine needs for the thread.
func (t *Thread) options() (*engine.Options, error) {
	switch {
	case t.g == nil:
		return nil, errNilGraph
	case t.g.opts.Checkpoints == nil:
		return nil, fmt.Errorf("%w: compile the graph with Options.Checkpoints", ErrNoStore)
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

// Delete removes the thread with all its checkpoints. If a run holds it, Delete does
// what [RunOptions.Conflict] says.
func (t *Thread) Delete(ctx context.Context) error {
	o, err := t.options()
	if err == nil && t.at != "" {
		err = fmt.Errorf("%w: the handle is at checkpoint %s, and a thread is deleted as a whole", checkpoint.ErrInvalid, t.at)
	}
	if err == nil {
		err = engine.DeleteThread(ctx, o)
	}
	return t.fail(err)
}

// A NodeUpdate is an edit of a thread on behalf of a node.
type NodeUpdate struct {
	// Node is the node that the edit stands for: what follows it is due afterwards.
	// [Start] makes the graph's entry due, [End] nothing.
	Node string
	// Update is what it writes; [Goto] and [Send] in it count as the node's.
	Update state.Update
}

// Update edits the state of a thread as if a node had run and returned the writes:
// it adds a checkpoint, and what follows that node is due instead of what was due.
// Results of finished tasks of an unfinished superstep are applied first. An empty
// node means the one that ran or was updated last; if there were several, that is
// an [ErrAmbiguous]. On a handle from [Thread.At] it edits that checkpoint, on a
// branch of its own.
func (t *Thread) Update(ctx context.Context, node string, writes ...state.Write) (*Snapshot, error) {
	return t.UpdateNodes(ctx, NodeUpdate{Node: node, Update: writes})
}

// UpdateNodes is [Thread.Update] for several nodes at once, as if they had run in
// one superstep, in the order given.
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
