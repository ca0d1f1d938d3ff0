package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/state"
)

// snapshotData is the JSON of a [Snapshot].
type snapshotData struct {
	Info
	// Values maps channel names to values, without absent and untracked channels.
	Values  map[string]json.RawMessage `json:"values"`
	Tasks   []Task                     `json:"tasks,omitempty"`
	Pauses  []Pause                    `json:"pauses,omitempty"`
	Waiting []WaitingJoin              `json:"waiting,omitempty"`
	Done    bool                       `json:"done"`
}

// MarshalJSON returns the snapshot as a JSON object. It has the fields of [Info],
// "tasks", "pauses", "waiting", "done", and "values" with the value of each channel by
// name. Absent and untracked channels are left out. [Graph.ReadSnapshot] reads it.
func (s *Snapshot) MarshalJSON() ([]byte, error) {
	values, err := state.Values(s.View)
	if err != nil {
		return nil, fmt.Errorf("graph: snapshot %s: %w", s.ID, err)
	}
	return json.Marshal(snapshotData{
		Info: s.Info, Values: values, Tasks: s.Tasks, Pauses: s.Pauses, Waiting: s.Waiting, Done: s.Done(),
	})
}

// ReadSnapshot reads the JSON of a [Snapshot] of this graph. It returns a
// [state.ChannelError] for a value that its channel cannot hold, and for a channel that
// the graph does not have.
func (g *Graph) ReadSnapshot(data []byte) (*Snapshot, error) {
	if g == nil {
		return nil, &RunError{Err: errNilGraph}
	}
	var in snapshotData
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, g.fail("", fmt.Errorf("the snapshot is not valid JSON: %w", err))
	}
	view, err := g.plan.Schema.ViewFromJSON(in.Values)
	if err != nil {
		return nil, g.fail(in.Thread, err)
	}
	return &Snapshot{Info: in.Info, View: view, Tasks: in.Tasks, Pauses: in.Pauses, Waiting: in.Waiting}, nil
}

// ReadInput decodes input of the graph, for example from a request. The data is a JSON
// object that maps names of channels to updates. For a list channel, the update is an
// element or an array of elements; for a map channel, it is an object of entries. An
// unknown channel is a [state.ErrUnknownChannel]. A value that the channel does not
// accept, and any value for an internal channel, is a [state.ChannelError]; see
// [state.Channel.Internal].
func (g *Graph) ReadInput(data []byte) (state.Update, error) {
	if g == nil {
		return nil, &RunError{Err: errNilGraph}
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, g.fail("", fmt.Errorf("the input is not a JSON object with the names of channels as keys: %w", err))
	}
	writes, err := g.plan.Schema.InputFromJSON(values)
	if err != nil {
		return nil, g.fail("", err)
	}
	update := make(state.Update, len(writes))
	for i, w := range writes {
		update[i] = state.Write{Write: w}
	}
	return update, nil
}

// ReadWrite reads one write from JSON, in the form in which a [state.Write] is encoded: an
// object with "channel", "op" and "value". For "update", "append", "put" and "merge", the
// value is an update as in [Graph.ReadInput]. For "overwrite" it is the whole value of the
// channel, and for "remove" an array of ids or keys; "clear" has no value. A mistake is a
// [state.ChannelError].
func (g *Graph) ReadWrite(data []byte) (state.Write, error) {
	if g == nil {
		return state.Write{}, &RunError{Err: errNilGraph}
	}
	w, err := g.plan.Schema.WriteFromJSON(data)
	return state.Write{Write: w}, g.fail("", err)
}

// JSONSchema returns the JSON Schema (draft 2020-12) of the "values" of a snapshot's
// JSON: an object whose keys are the names of channels.
func (g *Graph) JSONSchema() json.RawMessage {
	if g == nil {
		return nil
	}
	return g.plan.Schema.JSONSchema()
}

// InputJSONSchema returns the JSON Schema of the input of [Graph.ReadInput]. It has no internal
// channels.
func (g *Graph) InputJSONSchema() json.RawMessage {
	if g == nil {
		return nil
	}
	return g.plan.Schema.InputJSONSchema()
}
