package state

import (
	"encoding/json"

	"github.com/weft-go/weft/internal/statecore"
)

// An Update is the list of writes that a node, an input or an edit makes. They
// are applied in order.
type Update []Write

// A Write is one change to one channel, or a signal to the graph such as
// graph.Goto. Channels make writes. The zero Write does nothing. A Write is
// immutable and may be used more than once.
type Write struct{ statecore.Write }

// Values returns the JSON of each write: {"channel": …, "op": …, "value": …}, or
// {"signal": …} for a signal. It omits writes that do nothing. It also omits the
// values of writes to [Untracked] channels.
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
