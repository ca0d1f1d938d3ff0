package server

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/weft-go/weft/graph"
)

// forRun returns the access with the fields that describe a run: Checkpoint, Resume, Goto and Update.
func (a Access) forRun(q *runRequest) Access {
	a.Checkpoint = q.at()
	if q.Command == nil {
		return a
	}
	a.Resume = string(orNull(q.Command.Resume)) != "null"
	written := []json.RawMessage{q.Command.Update}
	for _, item := range elements(orNull(q.Command.Goto)) {
		if t, err := readTarget(item); err == nil && t.Node != graph.End { // nothing runs at the end
			a.Goto = append(a.Goto, t.Node)
			written = append(written, t.Input)
		}
	}
	a.Update = channelsOf(written...)
	return a
}

// forUpdates returns the access with the fields that describe updates of a state: AsNode and Update.
func (a Access) forUpdates(updates []stateUpdate) Access {
	values := make([]json.RawMessage, len(updates))
	for i, u := range updates {
		a.AsNode = append(a.AsNode, u.node())
		values[i] = u.Values
	}
	a.Update = channelsOf(values...)
	return a
}

// channelsOf returns the channels that updates name. An update is an object of values by channel, an array of such
// objects, or an array of pairs of a channel and a value. channelsOf ignores an invalid update, which is refused later.
func channelsOf(updates ...json.RawMessage) []string {
	names := map[string]bool{}
	for _, update := range updates {
		list, err := objects(update)
		if err != nil {
			list = elements(update)
		}
		for _, item := range list {
			var values map[string]json.RawMessage
			_ = json.Unmarshal(orNull(item), &values)
			for name := range values {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
