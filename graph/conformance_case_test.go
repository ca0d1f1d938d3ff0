package graph_test

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/state"
)

// These types decode a case. testdata/conformance/README.md defines the format.
type (
	confCase struct {
		Name         string `json:"name"`
		Checkpointer *bool  `json:"checkpointer"`
		confGraph
		Script []confCall        `json:"script"`
		Expect []json.RawMessage `json:"expect"`
	}
	confGraph struct {
		Channels        map[string]string `json:"channels"`
		Nodes           []confNode        `json:"nodes"`
		Edges           []confEdge        `json:"edges"`
		Branches        []confBranch      `json:"branches"`
		InterruptBefore []string          `json:"interrupt_before"`
		InterruptAfter  []string          `json:"interrupt_after"`
	}
	confNode struct {
		Name     string     `json:"name"`
		Do       []confOp   `json:"do"`
		Retry    int        `json:"retry"`
		Defer    bool       `json:"defer"`
		Ends     []string   `json:"ends"`
		Subgraph *confGraph `json:"subgraph"`
	}
	confEdge struct {
		From []string
		Join bool
		To   string
	}
	confBranch struct {
		From  string     `json:"from"`
		Cases []confWhen `json:"cases"`
		Else  *confWhen  `json:"else"`
	}
	confWhen struct {
		If *struct {
			Chan  string  `json:"chan"`
			Op    string  `json:"op"`
			Value float64 `json:"value"`
		} `json:"if"`
		To     []string    `json:"to"`
		Fanout *confFanout `json:"fanout"`
	}
	confFanout struct {
		Over string `json:"over"`
		To   string `json:"to"`
		Key  string `json:"key"`
	}
	confOp struct {
		Write     map[string]any `json:"write"`
		Count     *confMove      `json:"count"`
		Copy      *confMove      `json:"copy"`
		Interrupt *struct {
			Value any    `json:"value"`
			Into  string `json:"into"`
		} `json:"interrupt"`
		Fail *struct {
			Attempts int    `json:"attempts"`
			Message  string `json:"message"`
		} `json:"fail"`
		Goto []string `json:"goto"`
		Send []struct {
			To  string         `json:"to"`
			Arg map[string]any `json:"arg"`
		} `json:"send"`
		Fanout *confFanout `json:"fanout"`
		Parent []string    `json:"parent"`
	}
	confMove struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	confCall struct {
		Op      string          `json:"op"`
		Thread  string          `json:"thread"`
		Input   *map[string]any `json:"input"`
		Command *struct {
			Resume *json.RawMessage `json:"resume"`
			Update map[string]any   `json:"update"`
			Goto   []string         `json:"goto"`
		} `json:"command"`
		ResumeByNode    map[string]any `json:"resume_by_node"`
		RecursionLimit  int            `json:"recursion_limit"`
		InterruptBefore []string       `json:"interrupt_before"`
		Durability      string         `json:"durability"`
		At              *int           `json:"at"`
		Values          map[string]any `json:"values"`
		AsNode          string         `json:"as_node"`
	}
	confRun struct {
		Values     []map[string]any `json:"values"`
		Updates    [][]confUpdate   `json:"updates"`
		Interrupts []any            `json:"interrupts,omitempty"`
		Error      string           `json:"error,omitempty"`
	}
	confUpdate struct {
		Node   string         `json:"node"`
		Update map[string]any `json:"update"`
	}
	confState struct {
		Values     map[string]any `json:"values"`
		Next       []string       `json:"next"`
		Interrupts []confQuestion `json:"interrupts"`
	}
	confQuestion struct {
		Node  string `json:"node"`
		Value any    `json:"value"`
	}
	confEntry struct {
		Source string         `json:"source"`
		Values map[string]any `json:"values"`
		Next   []string       `json:"next"`
	}
)

// UnmarshalJSON decodes a pair. The first element is the source, or a list of the sources
// of a join. The second element is the target.
func (e *confEdge) UnmarshalJSON(data []byte) error {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if err := json.Unmarshal(pair[1], &e.To); err != nil {
		return err
	}
	if len(pair[0]) > 0 && pair[0][0] == '[' {
		e.Join = true
		return json.Unmarshal(pair[0], &e.From)
	}
	e.From = make([]string, 1)
	return json.Unmarshal(pair[0], &e.From[0])
}

// confChannel is a channel of a case, with functions that convert its values
// from and to JSON values.
type confChannel struct {
	kind   string
	handle state.Handle
	put    func(v any) (state.Write, error)
	get    func(s state.View) (any, bool)
}

// newConfChannel returns the channel for a reducer of the format.
func newConfChannel(name, kind string) (confChannel, error) {
	c := confChannel{kind: kind}
	switch kind {
	case "append":
		ch := state.Append[any](name)
		c.handle = ch
		c.put = func(v any) (state.Write, error) {
			list, ok := v.([]any)
			if !ok {
				return state.Write{}, fmt.Errorf("channel %s: %v is not a list", name, v)
			}
			return ch.Put(list...), nil
		}
		c.get = func(s state.View) (any, bool) {
			list, ok := ch.Lookup(s)
			if list == nil {
				list = []any{}
			}
			return list, ok
		}
	case "sum", "max":
		var ch *state.Channel[float64, float64]
		if ch = state.Sum[float64](name); kind == "max" {
			ch = state.Max[float64](name)
		}
		c.handle = ch
		c.put = func(v any) (state.Write, error) {
			n, ok := v.(float64)
			if !ok {
				return state.Write{}, fmt.Errorf("channel %s: %v is not a number", name, v)
			}
			return ch.Put(n), nil
		}
		c.get = func(s state.View) (any, bool) { n, ok := ch.Lookup(s); return n, ok }
	case "merge":
		ch := state.Map[string, any](name)
		c.handle = ch
		c.put = func(v any) (state.Write, error) {
			m, ok := v.(map[string]any)
			if !ok {
				return state.Write{}, fmt.Errorf("channel %s: %v is not an object", name, v)
			}
			return ch.Put(m), nil
		}
		c.get = func(s state.View) (any, bool) {
			m, ok := ch.Lookup(s)
			if m == nil {
				m = map[string]any{}
			}
			return m, ok
		}
	case "last":
		ch := state.Last[any](name)
		c.handle = ch
		c.put = func(v any) (state.Write, error) { return ch.Put(v), nil }
		c.get = func(s state.View) (any, bool) { return ch.Lookup(s) }
	default:
		return c, fmt.Errorf("channel %s: unknown reducer %q", name, kind)
	}
	return c, nil
}
