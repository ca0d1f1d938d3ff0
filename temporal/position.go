package temporal

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/mark"
)

// A position is the state of a thread before an input. It is in the history of the workflow before
// the run begins, so a repeated run finds out whether an earlier attempt has stored the input.
type position struct {
	// Head is the id of the newest checkpoint; empty for a new thread.
	Head string `json:"head,omitempty"`
	// Inputs counts the pending edits and targets of callers.
	Inputs int `json:"inputs,omitempty"`
	// Version is the version of the graph that began the unfinished turn, or else that of the worker.
	Version string `json:"version,omitempty"`
}

// look returns the position of a thread.
func (a *activities) look(ctx context.Context, name, thread string) (position, error) {
	g, err := a.graph(name)
	if err != nil {
		return position{}, err
	}
	c, err := g.Checkpoints().Get(ctx, checkpoint.Key{Thread: thread})
	if errors.Is(err, checkpoint.ErrNotFound) {
		return position{Version: g.Version()}, nil
	}
	if err != nil {
		return position{}, err
	}
	p := position{Head: c.ID, Inputs: edits(&c), Version: g.Version()}
	snap, err := g.Thread(thread).Snapshot(ctx)
	if err != nil || !snap.Done() { // a state that this version cannot read belongs to another one
		p.Version = c.Version
	}
	return p, nil
}

// requestKey is the key of the id of a request in the metadata of checkpoints.
const requestKey = "weft.request"

// known reports whether an earlier execution of the workflow has run the request.
func (in *runInput) known(ctx context.Context, th *graph.Thread) (bool, error) {
	if !in.Input.Repeated {
		return false, nil
	}
	for _, err := range th.History(ctx, graph.HistoryQuery{Metadata: map[string]string{requestKey: in.Input.Request}, Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// applied reports whether an earlier attempt has stored the input: as a checkpoint after the position that has the
// id of the request, or as pending writes.
//
// A checkpoint of another run is no sign of it. Such a run may have moved the thread since look: a cancelled one whose
// worker was cut off, or one that somebody started without Temporal.
func (in *runInput) applied(ctx context.Context, store checkpoint.Store) (bool, error) {
	var writes []wireWrite
	_ = json.Unmarshal(in.Input.Writes, &writes) // decodeWrites returns this error
	for c, err := range store.List(ctx, checkpoint.Query{Thread: in.Thread, Writes: true}) {
		if err != nil {
			return false, err
		}
		base := c.ID == in.Base.Head
		before := 0
		if base {
			before = in.Base.Inputs
		}
		if !base && in.Input.Request != "" && c.Metadata[requestKey] == in.Input.Request || pending(&c, writes, before) {
			return true, nil
		}
		if base {
			return false, nil
		}
	}
	return false, nil
}

// pending reports whether the input is among the pending writes of a checkpoint, which had so many edits before. A
// run stores its answers and edits together, so it looks for edits only if there is no answer.
func pending(c *checkpoint.Checkpoint, input []wireWrite, before int) bool {
	answers := false
	for _, w := range input {
		if w.Answer == nil {
			continue
		}
		answers = true
		if !slices.ContainsFunc(c.Writes, w.Answer.isStored) {
			return false
		}
	}
	return answers || len(input) > 0 && edits(c) > before
}

// isStored reports whether the pending write is the answer.
func (a *wireAnswer) isStored(w checkpoint.Write) bool {
	var stored struct {
		ID      string          `json:"id"`
		Value   json.RawMessage `json:"value"`
		Refused bool            `json:"refused"`
	}
	if w.Channel != mark.Answer || json.Unmarshal(w.Data, &stored) != nil || stored.ID != a.ID || stored.Refused {
		return false
	}
	want, err := json.Marshal(a.Value) // the normal form of JSON, as the engine stores it
	return err == nil && string(stored.Value) == string(want)
}

// edits counts the pending edits and targets that callers added to a checkpoint.
func edits(c *checkpoint.Checkpoint) int {
	n := 0
	for _, w := range c.Writes {
		if w.Task == "" && !slices.Contains([]string{mark.Stop, mark.Void, mark.Gone}, w.Channel) {
			n++
		}
	}
	return n
}
