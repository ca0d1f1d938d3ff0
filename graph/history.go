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
	// Before, if not empty, selects checkpoints older than the one with this id.
	Before string
	// Limit is the maximum number of checkpoints. Zero means all.
	Limit int
	// Source and Run, if not empty, select checkpoints of that source and run.
	Source checkpoint.Source
	Run    string
	// Metadata selects checkpoints whose metadata contains all these pairs.
	Metadata map[string]string
}

// History yields the thread's checkpoints, newest first, including checkpoints of
// abandoned branches. It reads no states, so its memory does not grow with the thread.
// To read a state, use t.At(info.ID).Snapshot. An error is the last pair.
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

// Waiting finds the threads that wait at a node, and yields the newest checkpoint of
// each. Use it before you change or remove the node. A thread waits at a node if a
// task of the node did not finish, because the thread paused, failed or crashed, or if
// the node is deferred and waits for other work. The graph need not have the node. With
// [Migrations], pass the former or the present name. For a node of a subgraph, pass the
// node that runs the subgraph.
//
// Waiting reads every thread whose id begins with the prefix, in the order of the ids,
// without its state. The store must be a [checkpoint.ThreadLister]. For a thread that
// cannot be read it yields the field Thread alone, with the error, and the loop may continue.
// Any other error is the last pair.
func (g *Graph) Waiting(ctx context.Context, node, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if g == nil {
			yield(Info{}, &RunError{Err: errNilGraph})
			return
		}
		if g.opts.Checkpoints == nil {
			yield(Info{}, g.fail("", ErrNoStore))
			return
		}
		lister, ok := g.opts.Checkpoints.(checkpoint.ThreadLister)
		if !ok {
			yield(Info{}, g.fail("", fmt.Errorf("%T cannot list threads: %w", g.opts.Checkpoints, errors.ErrUnsupported)))
			return
		}
		for thread, err := range lister.ListThreads(ctx, prefix) {
			var info Info
			waits := false
			if err == nil {
				info, waits, err = g.waitsAt(ctx, thread.ID, node)
			}
			if err != nil {
				unreadable := thread.ID != "" && (errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat) || errors.Is(err, checkpoint.ErrDecrypt))
				if !yield(Info{Thread: thread.ID}, g.fail(thread.ID, err)) || !unreadable {
					return
				}
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
