package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/state"
)

// snapshotData is the JSON of a [Snapshot].
type snapshotData struct {
	Info
	// Values has each channel by name, but for absent and untracked ones.
	Values  map[string]json.RawMessage `json:"values"`
	Tasks   []Task                     `json:"tasks,omitempty"`
	Pauses  []Pause                    `json:"pauses,omitempty"`
	Waiting []WaitingJoin              `json:"waiting,omitempty"`
	Done    bool                       `json:"done"`
}

// MarshalJSON returns the snapshot as JSON: the fields of [Info], "values" with every
// channel by name, "tasks", "pauses", "waiting" and "done". Channels that are absent
// or untracked are left out. [Graph.ReadSnapshot] reads it back.
func (s *Snapshot) MarshalJSON() ([]byte, error) {
	values, err := state.Values(s.View)
	if err != nil {
		return nil, fmt.Errorf("graph: snapshot %s: %w", s.ID, err)
	}
	return json.Marshal(snapshotData{
		Info: s.Info, Values: values, Tasks: s.Tasks, Pauses: s.Pauses, Waiting: s.Waiting, Done: s.Done(),
	})
}

// ReadSnapshot reads the JSON of a [Snapshot] of this graph. A value that its channel
// cannot hold, or a channel that the graph does not have, is a [state.ChannelError].
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

// ReadInput returns the writes that a JSON object describes: for each channel by name
// one update, or for a channel that holds a list an element or an array of elements,
// or for a map an object of entries. It is how input gets to a graph without its
// handles, as from a request. An unknown channel is a [state.ErrUnknownChannel], and
// a value that the channel does not take a [state.ChannelError].
func (g *Graph) ReadInput(data []byte) (state.Update, error) {
	if g == nil {
		return nil, &RunError{Err: errNilGraph}
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, g.fail("", fmt.Errorf("the input is not a JSON object by channel: %w", err))
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

// JSONSchema returns the JSON Schema (draft 2020-12) of the values of a snapshot: an
// object with each channel by name.
func (g *Graph) JSONSchema() json.RawMessage {
	if g == nil {
		return nil
	}
	return g.plan.Schema.JSONSchema()
}

// InputJSONSchema returns the JSON Schema of what [Graph.ReadInput] reads.
func (g *Graph) InputJSONSchema() json.RawMessage {
	if g == nil {
		return nil
	}
	return g.plan.Schema.InputJSONSchema()
}
