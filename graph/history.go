package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/weft-go/weft/checkpoint"
)

// A HistoryQuery selects checkpoints of a thread.
type HistoryQuery struct {
	// Before, when set, keeps what is older than the checkpoint with this id.
	Before string
	// Limit is the most to return. Zero means all.
	Limit int
	// Source and Run keep the checkpoints that have them.
	Source checkpoint.Source
	Run    string
	// Metadata keeps the checkpoints that have every one of these pairs.
	Metadata map[string]string
}

// History yields the thread's checkpoints, newest first, those of abandoned branches
// included. It reads no states, so its memory does not grow with the thread:
// t.At(info.ID).Snapshot reads a state. An error is the last pair.
func (t *Thread) History(ctx context.Context, q HistoryQuery) iter.Seq2[Info, error] {
	return t.history(ctx, q, "")
}

// history yields the checkpoints of one namespace.
func (t *Thread) history(ctx context.Context, q HistoryQuery, namespace string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		o, err := t.options()
		if err != nil {
			yield(Info{}, t.fail(err))
			return
		}
		query := checkpoint.Query{
			Thread: t.id, Namespace: namespace, Before: q.Before, Limit: q.Limit,
			Source: q.Source, Run: q.Run, Metadata: q.Metadata,
		}
		for c, err := range o.Store.List(ctx, query) {
			if err != nil {
				yield(Info{}, t.fail(err))
				return
			}
			info, err := t.g.plan.InfoOf(&c)
			if err != nil {
				yield(Info{}, t.fail(err))
				return
			}
			if !yield(newInfo(info), nil) {
				return
			}
		}
	}
}

// Waiting yields the newest checkpoints of the threads that wait at a node: those that
// need attention when the node changes. A thread waits at a node if it has a task of
// the node that did not finish, because the thread paused, failed or crashed, or if
// the node is deferred and waits for other work. The node may have any name, also one
// that the graph no longer has, and of [Migrations] the former or the present one. A
// node of a subgraph is not looked for, but the node that runs the subgraph.
//
// Waiting looks at every thread whose id begins with the prefix, in the order of the
// ids, and reads no states. The store must be a [checkpoint.ThreadLister]. An error is
// the last pair.
func (g *Graph) Waiting(ctx context.Context, node, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if g == nil {
			yield(Info{}, &RunError{Err: errNilGraph})
			return
		}
		if g.opts.Checkpoints == nil {
			yield(Info{}, g.fail("", fmt.Errorf("%w: compile the graph with Options.Checkpoints", ErrNoStore)))
			return
		}
		lister, ok := g.opts.Checkpoints.(checkpoint.ThreadLister)
		if !ok {
			yield(Info{}, g.fail("", fmt.Errorf("%T cannot list threads: %w", g.opts.Checkpoints, errors.ErrUnsupported)))
			return
		}
		for thread, err := range lister.ListThreads(ctx, prefix) {
			if err != nil {
				yield(Info{}, g.fail("", err))
				return
			}
			info, waits, err := g.waitsAt(ctx, thread.ID, node)
			if err != nil {
				yield(Info{}, g.fail(thread.ID, err))
				return
			}
			if waits && !yield(info, nil) {
				return
			}
		}
	}
}

// waitsAt reports whether a thread waits at a node, and describes its newest
// checkpoint.
func (g *Graph) waitsAt(ctx context.Context, thread, node string) (Info, bool, error) {
	for c, err := range g.opts.Checkpoints.List(ctx, checkpoint.Query{Thread: thread, Limit: 1, Writes: true}) {
		if err != nil {
			return Info{}, false, err
		}
		waits, err := g.plan.WaitsAt(&c, node)
		if err != nil || !waits {
			return Info{}, false, err
		}
		info, err := g.plan.InfoOf(&c)
		return newInfo(info), true, err
	}
	return Info{}, false, nil // the thread was deleted meanwhile
}
