package server

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// noSubgraph refuses a request for a subgraph that the newest checkpoint of the thread does not run.
func noSubgraph(ns string) error {
	return refuse(http.StatusNotFound, "The newest checkpoint of the thread runs no subgraph %q. "+
		"The state of a subgraph can be read and updated until its task has finished; its namespace is in the checkpoint of that task.", shortened(ns))
}

// in returns a reader of the subgraph with a namespace. For an empty namespace, the reader reads the thread itself.
func (r *reader) in(ctx context.Context, ns string) (*reader, error) {
	if ns == "" {
		return r, nil
	}
	snap, err := r.thread.Snapshot(ctx)
	p := place{}
	for part := range strings.SplitSeq(ns, "|") {
		if err != nil {
			break
		}
		i := slices.IndexFunc(snap.Tasks, func(t graph.Task) bool { return t.Node+":"+p.taskID(&snap.Info, t.ID) == part })
		if i < 0 {
			return nil, noSubgraph(ns)
		}
		p = p.inner(snap, snap.Tasks[i], p.taskID(&snap.Info, snap.Tasks[i].ID))
		snap, err = r.thread.Subgraph(p.tasks...).Snapshot(ctx)
	}
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, noSubgraph(ns)
	}
	in := *r
	in.place = p
	return &in, err
}

// snapshot returns the state of the reader's graph at a checkpoint. An empty id means the newest one.
func (r *reader) snapshot(ctx context.Context, id string) (*graph.Snapshot, error) {
	if len(r.place.tasks) > 0 {
		return r.thread.Subgraph(r.place.tasks...).At(id).Snapshot(ctx)
	}
	return r.thread.At(id).Snapshot(ctx)
}

// infos yields the checkpoints of the reader's graph, newest first.
func (r *reader) infos(ctx context.Context, q graph.HistoryQuery) iter.Seq2[graph.Info, error] {
	if len(r.place.tasks) > 0 {
		return r.thread.Subgraph(r.place.tasks...).History(ctx, q)
	}
	return r.thread.History(ctx, q)
}

// subgraph returns the graph at the place of the reader, or nil if the server does not have it.
func (r *reader) subgraph() *served {
	g := r.g.graph
	for _, node := range r.place.nodes {
		g = g.Subgraph(node)
	}
	if g == nil {
		return nil
	}
	sub := newServed(g.Name(), g)
	sub.input = r.g.input
	sub.limitInput()
	return sub
}
