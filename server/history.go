package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
)

type historyBody struct {
	Limit      *int            `json:"limit"`
	Before     json.RawMessage `json:"before"`
	Metadata   json.RawMessage `json:"metadata"`
	Checkpoint checkpointID    `json:"checkpoint"`
}

// beforeID returns the id of a checkpoint. The history has only the states before this checkpoint. It returns "" if the
// request names none.
func (b *historyBody) beforeID() (string, error) {
	var text string
	var named struct {
		checkpointID
		Configurable checkpointID `json:"configurable"`
	}
	switch data := bytes.TrimSpace(b.Before); {
	case len(data) == 0 || string(data) == "null":
		return "", nil
	case json.Unmarshal(data, &text) == nil:
		return text, nil
	case json.Unmarshal(data, &named) == nil && named.Configurable.ID != "":
		return named.Configurable.ID, nil
	case named.ID != "":
		return named.ID, nil
	}
	return "", invalid("before names no checkpoint.")
}

func (c *call) history() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	b, limit, err := c.historyBody()
	if err != nil {
		return err
	}
	g, err := c.s.servedOf(c.ctx(), &r)
	if err != nil {
		return err
	}
	if g == nil {
		return c.send([]*threadState{})
	}
	before, err := b.beforeID()
	if err != nil {
		return err
	}
	read, err := c.s.reader(g, r.ID).in(c.ctx(), b.Checkpoint.Namespace)
	if err != nil {
		return err
	}
	read.light = c.prefersMinimal() && b.Checkpoint.Namespace == ""
	var list []*threadState
	if b.Checkpoint.ID != "" {
		list, err = read.only(c.ctx(), b.Checkpoint.ID, b.Metadata)
	} else {
		list, err = read.history(c.ctx(), before, b.Metadata, limit)
	}
	if err != nil {
		return err
	}
	return c.send(list)
}

// historyBody reads the request for a history. It returns the body and the limit.
func (c *call) historyBody() (b historyBody, limit int, err error) {
	limit = 10
	if c.r.Method == http.MethodGet {
		if limit, err = c.number("limit", 1); err != nil {
			return b, 0, err
		}
		if before := c.r.URL.Query().Get("before"); before != "" {
			b.Before = encoded(before)
		}
	} else {
		if err := c.body(&b, false); err != nil {
			return b, 0, err
		}
		if b.Limit != nil {
			limit = *b.Limit
		}
	}
	if limit < 1 || limit > maxLimit {
		return b, 0, invalid("The limit is %d; it must be from 1 to %d.", limit, maxLimit)
	}
	return b, limit, object("metadata", b.Metadata)
}

// only returns a history of one checkpoint: the state at this checkpoint. The history is empty if the checkpoint does not
// exist.
func (r *reader) only(ctx context.Context, id string, metadata json.RawMessage) ([]*threadState, error) {
	st, err := r.at(ctx, id, false)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return []*threadState{}, nil
	}
	if err != nil {
		return nil, err
	}
	return r.add([]*threadState{}, st, metadata), nil
}

// history returns the states of a thread, newest first.
func (r *reader) history(ctx context.Context, before string, metadata json.RawMessage, limit int) ([]*threadState, error) {
	out := []*threadState{}
	newest, err := r.snapshot(ctx, "")
	if errors.Is(err, checkpoint.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	input, start := isStart(before)
	if start {
		before = input
	} else if out, err = r.startOf(ctx, before, metadata); err != nil {
		return nil, err
	}
	for info, err := range r.infos(ctx, graph.HistoryQuery{Before: before}) {
		if errors.Is(err, checkpoint.ErrNotFound) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(out) >= limit {
			break
		}
		states, err := r.statesOf(ctx, &info, newest)
		if err != nil {
			return nil, err
		}
		if states == nil {
			break
		}
		for _, st := range states {
			out = r.add(out, st, metadata)
		}
	}
	return out[:min(limit, len(out))], nil
}

// startOf returns the start state that clients see as the parent of an input's checkpoint. The history before the
// input begins with it. The list is empty if id is empty or is not the checkpoint of an input.
func (r *reader) startOf(ctx context.Context, id string, metadata json.RawMessage) ([]*threadState, error) {
	out := []*threadState{}
	if id == "" {
		return out, nil
	}
	snap, err := r.snapshot(ctx, id)
	if err != nil || snap.Source != checkpoint.Input {
		return out, nil //nolint:nilerr // history handles the error when it lists the checkpoints before id
	}
	st, err := r.start(ctx, &snap.Info)
	if err != nil {
		return nil, err
	}
	return r.add(out, st, metadata), nil
}

// statesOf returns the states of a history for one checkpoint.
func (r *reader) statesOf(ctx context.Context, i *graph.Info, newest *graph.Snapshot) ([]*threadState, error) {
	if !r.light {
		return r.statesAt(ctx, i.ID, newest)
	}
	st := r.frame(i, r.place, false)
	st.Next, st.Values = append([]string{}, i.Next...), map[string]json.RawMessage{}
	if i.Source != checkpoint.Input {
		return []*threadState{st}, nil
	}
	start, err := r.start(ctx, i)
	return []*threadState{st, start}, err
}

// statesAt returns the state at a checkpoint. For the checkpoint of an input, it also returns the start state before the
// input. It returns nil at a checkpoint of an earlier call of a subgraph.
func (r *reader) statesAt(ctx context.Context, id string, newest *graph.Snapshot) ([]*threadState, error) {
	snap, live := newest, id == newest.ID
	if !live {
		var err error
		snap, err = r.snapshot(ctx, id)
		if errors.Is(err, checkpoint.ErrNotFound) && len(r.place.tasks) > 0 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	st, err := r.state(ctx, snap, live, false, r.place)
	if err != nil || snap.Source != checkpoint.Input {
		return []*threadState{st}, err
	}
	start, err := r.start(ctx, &snap.Info)
	if errors.Is(err, checkpoint.ErrNotFound) && len(r.place.tasks) > 0 { // the end of an earlier call of the subgraph
		return []*threadState{st}, nil
	}
	return []*threadState{st, start}, err
}

// add appends a state if its metadata contains the given metadata.
func (r *reader) add(list []*threadState, st *threadState, metadata json.RawMessage) []*threadState {
	if runs.Contains(encoded(st.Metadata), metadata) {
		list = append(list, st)
	}
	return list
}
