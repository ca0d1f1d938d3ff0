package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// A SubgraphThread is a handle on the subgraph that an unfinished task of a thread
// runs. It gives access to the channels, tasks, questions and checkpoints of the
// subgraph. It is cheap, immutable and safe for concurrent use. A run of the thread
// resumes the subgraph at its newest checkpoint.
type SubgraphThread struct {
	t     Thread
	outer string // the checkpoint of the Thread from which the handle was made
}

// Subgraph returns a handle on the subgraph that a task of [Snapshot.Tasks] runs. For
// a nested subgraph, pass the ids of all tasks on the path, outermost first, as in
// [Pause.Path]. Methods of the handle return a [checkpoint.ErrNotFound] if the task
// runs no subgraph, has finished, or has not begun. They return an error if t was made
// by [Thread.At], since the subgraphs of older checkpoints have finished.
func (t *Thread) Subgraph(tasks ...string) *SubgraphThread {
	c := *t
	c.at = ""
	c.tasks = slices.Clone(tasks)
	return &SubgraphThread{t: c, outer: t.at}
}

// At returns a handle on the subgraph at a checkpoint of the subgraph.
// [SubgraphThread.History] lists these checkpoints.
func (s *SubgraphThread) At(checkpoint string) *SubgraphThread {
	c := *s
	c.t.at = checkpoint
	return &c
}

// Snapshot returns the state of the subgraph; see [Thread.Snapshot].
func (s *SubgraphThread) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := s.check(); err != nil {
		return nil, s.t.fail(err)
	}
	return s.t.Snapshot(ctx)
}

// History yields the checkpoints of the subgraph, newest first; see [Thread.History].
// With [SubgraphOptions.Persist] it includes the checkpoints of earlier calls.
func (s *SubgraphThread) History(ctx context.Context, q HistoryQuery) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		o, err := s.t.options()
		if err == nil {
			err = s.check()
		}
		namespace := ""
		if err == nil {
			namespace, err = s.t.g.plan.Namespace(ctx, o, s.t.tasks)
		}
		if err != nil {
			yield(Info{}, s.t.fail(err))
			return
		}
		s.t.history(ctx, q, namespace)(yield)
	}
}

// Update edits the state of the subgraph as if one of its nodes had run; see
// [Thread.Update]. Open questions of the subgraph are withdrawn. The next run of the
// thread resumes the subgraph, which then asks again if necessary.
func (s *SubgraphThread) Update(ctx context.Context, node string, writes ...state.Write) (*Snapshot, error) {
	if err := s.check(); err != nil {
		return nil, s.t.fail(err)
	}
	return s.t.Update(ctx, node, writes...)
}

// Fork makes the next run of the thread resume the subgraph at the checkpoint of a
// handle from [SubgraphThread.At]. It adds a checkpoint with the same state. Open
// questions of the subgraph are withdrawn. The checkpoint must belong to the current
// call of the subgraph.
func (s *SubgraphThread) Fork(ctx context.Context) (*Snapshot, error) {
	err := s.check()
	if err == nil && s.t.at == "" {
		err = fmt.Errorf("%w: Fork needs a handle at a checkpoint; use At", checkpoint.ErrInvalid)
	}
	if err != nil {
		return nil, s.t.fail(err)
	}
	o, err := s.t.options()
	if err != nil {
		return nil, s.t.fail(err)
	}
	snap, err := s.t.g.plan.ForkSubgraph(ctx, o, s.t.tasks)
	return newSnapshot(snap), s.t.fail(err)
}

func (s *SubgraphThread) check() error {
	switch {
	case len(s.t.tasks) == 0:
		return fmt.Errorf("%w: Subgraph was called without a task id", checkpoint.ErrInvalid)
	case s.outer != "":
		return fmt.Errorf("%w: the handle of the thread is at checkpoint %s, and the subgraphs of older checkpoints have finished; call Subgraph on a handle without At, and At on its result", checkpoint.ErrInvalid, s.outer)
	}
	return nil
}
