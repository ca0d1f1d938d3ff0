package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// A stateUpdate is an edit of a state as if a node had run.
type stateUpdate struct {
	Values json.RawMessage `json:"values"`
	AsNode string          `json:"as_node"`
}

func (c *call) updateState() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	var b struct {
		stateUpdate
		Checkpoint   *checkpointID `json:"checkpoint"`
		CheckpointID string        `json:"checkpoint_id"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	if b.Checkpoint != nil && b.CheckpointID == "" {
		b.CheckpointID = b.Checkpoint.ID
	}
	ns := ""
	if b.Checkpoint != nil {
		ns = b.Checkpoint.Namespace
	}
	id, err := c.update(&r, b.CheckpointID, ns, []stateUpdate{b.stateUpdate})
	if err != nil {
		return err
	}
	point := checkpointID{Thread: r.ID, Namespace: ns, ID: id}
	return c.send(map[string]any{"checkpoint": point, "checkpoint_id": id, "configurable": point})
}

// update edits the state of a thread at a checkpoint and returns the id of the new checkpoint.
func (c *call) update(r *runs.Record, at, ns string, updates []stateUpdate) (string, error) {
	g, err := c.s.graphOf(r)
	if err != nil {
		return "", err
	}
	var edits []graph.NodeUpdate
	for _, u := range updates {
		list, err := readUpdates(g, u)
		if err != nil {
			return "", refuse(http.StatusBadRequest, "The values cannot be read: %v.", err)
		}
		edits = append(edits, list)
	}
	inputs, base, err := c.base(g, r.ID, at)
	if err != nil {
		return "", err
	}
	th := g.graph.Thread(r.ID).With(graph.RunOptions{Metadata: map[string]string{metaInputs: strconv.Itoa(inputs)}}).At(base)
	snap, err := c.edit(th, g, ns, edits)
	switch {
	case errors.Is(err, checkpoint.ErrConflict):
		return "", refuse(http.StatusConflict, "The thread is busy.")
	case errors.Is(err, checkpoint.ErrNotFound):
		return "", notFound("checkpoint", at)
	case err != nil:
		return "", refuse(http.StatusBadRequest, "The state cannot be updated: %v.", err)
	}
	_, err = c.s.change(c.ctx(), runs.Thread, r.ID, func(r *runs.Record) error {
		r.Updated = now()
		return nil
	})
	return snap.ID, err
}

// edit applies updates to a thread, or to the subgraph with a namespace.
func (c *call) edit(th *graph.Thread, g *served, ns string, edits []graph.NodeUpdate) (*graph.Snapshot, error) {
	if ns == "" {
		return th.UpdateNodes(c.ctx(), edits...)
	}
	tasks, err := c.s.reader(g, th.ID()).tasksOf(c.ctx(), ns)
	if err != nil {
		return nil, err
	}
	if len(edits) != 1 {
		return nil, errors.New("a subgraph takes one update")
	}
	return th.Subgraph(tasks...).Update(c.ctx(), edits[0].Node, edits[0].Update...)
}

// tasksOf returns the ids of the tasks that lead to the subgraph with a namespace.
func (r *reader) tasksOf(ctx context.Context, ns string) ([]string, error) {
	st, err := r.thread.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	p := place{}
	for part := range strings.SplitSeq(ns, "|") {
		i := slices.IndexFunc(st.Tasks, func(t graph.Task) bool { return t.Node+":"+p.taskID(&st.Info, t.ID) == part })
		if i < 0 {
			return nil, checkpoint.ErrNotFound
		}
		p = p.inner(st, st.Tasks[i], p.taskID(&st.Info, st.Tasks[i].ID))
		if st, err = r.thread.Subgraph(p.tasks...).Snapshot(ctx); err != nil {
			return nil, err
		}
	}
	return p.tasks, nil
}

func readUpdates(g *served, u stateUpdate) (graph.NodeUpdate, error) {
	edit := graph.NodeUpdate{Node: u.AsNode}
	for _, values := range elements(u.Values) {
		if string(orEmpty(values)) == "{}" {
			continue
		}
		update, err := g.readInput(values)
		if err != nil {
			return edit, err
		}
		edit.Update = append(edit.Update, update...)
	}
	return edit, nil
}

// base returns the checkpoint of the graph that a checkpoint of a client stands for, and how many
// inputs its state contains. A start stands for the checkpoint before it.
func (c *call) base(g *served, thread, at string) (inputs int, id string, err error) {
	th := g.graph.Thread(thread)
	input, start := isStart(at)
	if start {
		at = input
	}
	snap, err := th.At(at).Snapshot(c.ctx())
	switch {
	case errors.Is(err, checkpoint.ErrNotFound) && at == "":
		return 0, "", nil
	case errors.Is(err, checkpoint.ErrNotFound):
		return 0, "", notFound("checkpoint", at)
	case err != nil:
		return 0, "", err
	case !start:
		return inputsOf(&snap.Info), at, nil
	case snap.Parent == "":
		return 0, graph.Start, nil
	}
	return inputsOf(&snap.Info) - 1, snap.Parent, nil
}

// firstOf returns the first task of a path.
func firstOf(path string) string {
	first, _, _ := strings.Cut(path, "/")
	first, _, _ = strings.Cut(first, "~")
	return first
}

// noWrites says that an update has no writes to channels.
func noWrites(u state.Update) bool {
	return !slices.ContainsFunc(u, func(w state.Write) bool { return w.Channel() != "" })
}
