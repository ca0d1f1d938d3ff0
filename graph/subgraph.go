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
// runs: its own channels, tasks, questions and checkpoints. It is cheap, immutable
// and safe for concurrent use. A run of the thread resumes the subgraph where its
// newest checkpoint is.
type SubgraphThread struct {
	t     Thread
	outer string // the checkpoint that the thread's own handle was at
}

// Subgraph returns a handle on the subgraph that a task of [Snapshot.Tasks] runs. A
// subgraph within it is reached by the ids of both tasks, outermost first, as in
// [Pause.Path]. Methods of the handle return a [checkpoint.ErrNotFound] if the task
// runs no subgraph, has finished, or has not begun. The thread's handle must not be
// at a checkpoint: the subgraphs of older checkpoints have finished.
func (t *Thread) Subgraph(tasks ...string) *SubgraphThread {
	c := *t
	c.at = ""
	c.tasks = slices.Clone(tasks)
	return &SubgraphThread{t: c, outer: t.at}
}

// At returns a handle on the subgraph at one of its own checkpoints, which
// [SubgraphThread.History] lists.
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
// For a subgraph with [SubgraphOptions.Persist] it yields those of earlier calls too.
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
// [Thread.Update]. Questions that the subgraph had asked are withdrawn: the next run
// of the thread resumes the subgraph, which asks again where it needs to.
func (s *SubgraphThread) Update(ctx context.Context, node string, writes ...state.Write) (*Snapshot, error) {
	if err := s.check(); err != nil {
		return nil, s.t.fail(err)
	}
	return s.t.Update(ctx, node, writes...)
}

// Fork makes the checkpoint of a handle from [SubgraphThread.At] the one from which
// the subgraph resumes: it adds a checkpoint that follows it. Questions that the
// subgraph had asked are withdrawn. The next run of the thread resumes there. The
// checkpoint must be of the subgraph's current call.
func (s *SubgraphThread) Fork(ctx context.Context) (*Snapshot, error) {
	err := s.check()
	if err == nil && s.t.at == "" {
		err = fmt.Errorf("%w: the handle is at no checkpoint; use At", checkpoint.ErrInvalid)
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
		return fmt.Errorf("%w: Subgraph was given no task", checkpoint.ErrInvalid)
	case s.outer != "":
		return fmt.Errorf("%w: the handle of the thread is at checkpoint %s, and the subgraphs of older checkpoints have finished; use the thread's own handle, and At of the subgraph's", checkpoint.ErrInvalid, s.outer)
	}
	return nil
}
