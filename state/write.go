package state

import (
	"encoding/json"

	"github.com/weft-go/weft/internal/statecore"
)

// An Update is a list of writes. The graph applies them in order.
// Nodes return updates. The input of a run and an edit of a thread are updates too.
type Update []Write

// A Write is one change to one channel, or a signal to the graph.
// Methods of the channels, such as Put, return writes. graph.Goto returns a signal.
// The zero Write does nothing. A Write is immutable and may be used more than once.
type Write struct{ statecore.Write }

// Values returns each write as a JSON object. The object has the keys "channel",
// "op" and "value", or only the key "signal" for a signal.
// Values omits writes that do nothing.
// It also omits the values of writes to [Untracked] channels.
func (u Update) Values() ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(u))
	for _, w := range u {
		if w.IsNoop() {
			continue
		}
		data, err := w.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
