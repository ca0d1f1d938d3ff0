package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// A stateUpdate is an edit of a state as if a node had run.
type stateUpdate struct {
	Values json.RawMessage `json:"values"`
	AsNode string          `json:"as_node"`
}

// inputNode is another name for [graph.Start] in updates of clients.
const inputNode = "__input__"

// node returns the node as which the update is made, or "".
func (u *stateUpdate) node() string {
	if u.AsNode == inputNode {
		return graph.Start
	}
	return u.AsNode
}

func (c *call) updateState() error {
	id, err := c.id("thread")
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
	at := checkpointID{ID: b.CheckpointID}
	if b.Checkpoint != nil {
		at = *b.Checkpoint
		at.ID = cmp.Or(b.CheckpointID, at.ID)
	}
	a := Access{Resource: ResourceThreads, Action: ActionUpdate, ID: id, Checkpoint: at.ID}.forUpdates([]stateUpdate{b.stateUpdate})
	r, err := c.find(a, runs.Thread)
	if err != nil {
		return err
	}
	point, err := c.update(&r, at, []stateUpdate{b.stateUpdate})
	if err != nil {
		return err
	}
	return c.send(map[string]any{"checkpoint": point, "checkpoint_id": point.ID, "configurable": point})
}

// update edits the state of a thread or of a subgraph at a checkpoint. It returns the new checkpoint.
func (c *call) update(r *runs.Record, at checkpointID, updates []stateUpdate) (*checkpointID, error) {
	g, err := c.s.graphOf(r)
	if err != nil {
		return nil, err
	}
	read, err := c.s.reader(g, r.ID).in(c.ctx(), at.Namespace)
	if err != nil {
		return nil, err
	}
	var id string
	if at.Namespace == "" {
		id, err = c.updateThread(g, r.ID, at.ID, updates)
	} else {
		id, err = c.updateSubgraph(read, at, updates)
	}
	if err != nil {
		return nil, err
	}
	changed, err := c.s.change(c.ctx(), runs.Thread, r.ID, func(r *runs.Record) error { return c.s.edited(c.ctx(), g, r) })
	if err == nil {
		*r = changed
	}
	return read.place.checkpoint(r.ID, id), err
}

// edited sets the status of a thread whose state was updated. A thread without due nodes is idle. A thread with due nodes
// is interrupted, but keeps the status of a failed run, because nothing has run yet and operators find the thread by this
// status.
func (s *Server) edited(ctx context.Context, g *served, r *runs.Record) error {
	r.Updated = now()
	if r.Status == threadBusy {
		return nil
	}
	snap, err := g.graph.Thread(r.ID).Snapshot(ctx)
	if err != nil {
		return err
	}
	switch {
	case snap.Done():
		r.Status = threadIdle
	case r.Status != threadError:
		r.Status = threadInterrupted
	}
	return s.setThreadData(r, func(d *threadData) {
		if r.Status != threadError {
			d.Error = nil
		}
	})
}

// updateThread edits the state of a thread and returns the id of the new checkpoint.
func (c *call) updateThread(g *served, thread, at string, updates []stateUpdate) (string, error) {
	edits, err := readUpdates(g, updates)
	if err != nil {
		return "", err
	}
	inputs, base, err := c.base(g, thread, at)
	if err != nil {
		return "", err
	}
	th := g.graph.Thread(thread).With(graph.RunOptions{Metadata: map[string]string{metaInputs: strconv.Itoa(inputs)}}).At(base)
	snap, err := th.UpdateNodes(c.ctx(), edits...)
	if err != nil {
		return "", updateFailure(err, at)
	}
	return snap.ID, nil
}

// updateSubgraph edits the state of a subgraph and returns the id of the new checkpoint.
func (c *call) updateSubgraph(read *reader, at checkpointID, updates []stateUpdate) (string, error) {
	sub := read.subgraph()
	if sub == nil {
		return "", noSubgraph(at.Namespace)
	}
	if _, start := isStart(at.ID); start {
		return "", refuse(http.StatusBadRequest, "Checkpoint %s is before the input of the subgraph, and cannot be updated; update a later checkpoint of the subgraph, or the thread.", at.ID)
	}
	edits, err := readUpdates(sub, updates)
	if err != nil {
		return "", err
	}
	snap, err := read.thread.Subgraph(read.place.tasks...).At(at.ID).Update(c.ctx(), edits[0].Node, edits[0].Update...)
	if err != nil {
		return "", updateFailure(err, at.ID)
	}
	return snap.ID, nil
}

// updateFailure returns the refusal for an error of an update at a checkpoint.
func updateFailure(err error, at string) error {
	switch {
	case errors.Is(err, checkpoint.ErrConflict):
		return refuse(http.StatusConflict, "The thread is busy.")
	case errors.Is(err, checkpoint.ErrNotFound):
		return notFound("checkpoint", at)
	case isUpdateMistake(err):
		return refuse(http.StatusBadRequest, "The state cannot be updated: %v.", err)
	}
	return err
}

// isUpdateMistake reports whether the values or the node of an update caused the error.
func isUpdateMistake(err error) bool {
	for _, mistake := range []error{
		graph.ErrUnknownNode, graph.ErrAmbiguous, graph.ErrRoute, graph.ErrSignal, graph.ErrNoInput, checkpoint.ErrTooLarge, checkpoint.ErrInvalid,
	} {
		if errors.Is(err, mistake) {
			return true
		}
	}
	if _, inBranch := errors.AsType[*engine.BranchError](err); inBranch {
		return true
	}
	_, inChannel := errors.AsType[*state.ChannelError](err)
	return inChannel && !errors.Is(err, state.ErrStored)
}

// readUpdates reads updates of the channels of a graph.
func readUpdates(g *served, updates []stateUpdate) ([]graph.NodeUpdate, error) {
	var edits []graph.NodeUpdate
	for _, u := range updates {
		update, err := g.readObjects(elements(u.Values))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "The values cannot be read: %v.", err)
		}
		edits = append(edits, graph.NodeUpdate{Node: u.node(), Update: update})
	}
	return edits, nil
}

// base returns the stored checkpoint for a checkpoint that a client names, and the number of inputs in its state. A start
// checkpoint has no stored form: base returns the checkpoint before it.
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

// noWrites reports whether an update has no writes to channels.
func noWrites(u state.Update) bool {
	return !slices.ContainsFunc(u, func(w state.Write) bool { return w.Channel() != "" })
}
