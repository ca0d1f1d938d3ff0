package graph

import (
	"context"
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

// Waiting yields the threads that are due to run a node, or wait at it: those that
// need attention when the node changes. It lists every thread whose id begins with
// the prefix, and reads the newest checkpoint of each. The store must be a
// [checkpoint.ThreadLister]. An error is the last pair.
func (g *Graph) Waiting(ctx context.Context, node, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if g == nil {
			yield(Info{}, &RunError{Err: errNilGraph})
			return
		}
		lister, ok := g.opts.Checkpoints.(checkpoint.ThreadLister)
		if !ok {
			yield(Info{}, g.fail("", fmt.Errorf("%T cannot list threads: %w", g.opts.Checkpoints, checkpoint.ErrInvalid)))
			return
		}
		for thread, err := range lister.ListThreads(ctx, prefix) {
			if err != nil {
				yield(Info{}, g.fail("", err))
				return
			}
			for info, err := range g.Thread(thread.ID).History(ctx, HistoryQuery{Limit: 1}) {
				if err != nil {
					yield(Info{}, err)
					return
				}
				if !dueAt(info, node) {
					continue
				}
				if !yield(info, nil) {
					return
				}
			}
		}
	}
}

// dueAt reports whether a checkpoint schedules a node.
func dueAt(info Info, node string) bool {
	for _, name := range info.Next {
		if name == node {
			return true
		}
	}
	return false
}
