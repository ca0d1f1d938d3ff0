package statecore

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/weft-go/weft/internal/jsonform"
)

// ValuesOf returns the value of each channel of v as JSON, by channel name. It omits
// channels that are absent or never stored.
func ValuesOf(v View) (map[string]json.RawMessage, error) {
	own, out := v.values(), map[string]json.RawMessage{}
	err := own.schema.Snapshot(own, 0, func(channel string, _ Kind, data []byte) { out[channel] = data })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ValuesOf is like the function [ValuesOf]. It panics if v has another schema.
func (s *Schema) ValuesOf(v View) (map[string]json.RawMessage, error) {
	return ValuesOf(s.own(v))
}

// ViewFromJSON returns the state with the given values: the inverse of ValuesOf.
// The error joins one channel error for each invalid value.
func (s *Schema) ViewFromJSON(values map[string]json.RawMessage) (View, error) {
	r := s.Replay(nil)
	var errs []error
	for _, channel := range slices.Sorted(maps.Keys(values)) {
		errs = append(errs, r.Apply(channel, KindSet, values[channel]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r.View(), nil
}

// InputFromJSON converts JSON values by channel name to writes, in the order of the
// schema. The value for a list or set is one element or an array of elements. The value
// for a map is an object with entries. The value for any other channel is one update. A
// value for an internal channel is invalid, because only Go code writes it. The error
// joins one channel error for each invalid value.
func (s *Schema) InputFromJSON(values map[string]json.RawMessage) ([]Write, error) {
	var out []Write
	var errs []error
	for _, channel := range slices.Sorted(maps.Keys(values)) {
		if _, ok := s.byName[channel]; !ok {
			errs = append(errs, s.unknown(channel))
		}
	}
	for _, t := range s.channels {
		data, ok := values[t.Name]
		if !ok {
			continue
		}
		a, err := parseInput(t, data)
		switch {
		case err != nil:
			errs = append(errs, NewChannelError(t.Name, err))
		case a.Kind != 0:
			out = append(out, Write{t, a})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

func parseInput(t *Traits, data []byte) (a Action, err error) {
	defer recoverAs("reading JSON", &err)
	if t.Internal {
		return a, errors.New("it is internal: only Go code writes it, and no input from outside")
	}
	if err := jsonform.Storable(t.Update); err != nil {
		return a, fmt.Errorf("cannot be set from JSON: %w", err)
	}
	if a, err = t.Codec.ParseInput(data); err != nil {
		return a, fmt.Errorf("the JSON is not %s: %w", jsonform.WithArticle(t.Update.String()), err)
	}
	return a, nil
}

// writeJSON is the JSON form of a write.
type writeJSON struct {
	Channel string          `json:"channel,omitempty"`
	Op      string          `json:"op,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Signal  string          `json:"signal,omitempty"`
}

// WriteFromJSON reads the JSON form of a write to a channel; see [Write.MarshalJSON].
func (s *Schema) WriteFromJSON(data []byte) (Write, error) {
	var in writeJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return Write{}, fmt.Errorf("the write is not valid JSON: %w", err)
	}
	i, ok := s.byName[in.Channel]
	if !ok {
		return Write{}, s.unknown(in.Channel)
	}
	if s.channels[i].Untracked {
		return Write{}, NewChannelError(in.Channel, errors.New("an untracked channel cannot be set from JSON"))
	}
	t := s.channels[i]
	a, err := parseWrite(t, in.Op, in.Value)
	if err != nil {
		return Write{}, NewChannelError(in.Channel, err)
	}
	return Write{t, a}, nil
}

// parseWrite reads the value of a write with the name of its operation.
func parseWrite(t *Traits, op string, value []byte) (Action, error) {
	switch op {
	case "update", "append", "put", "merge":
		return parseInput(t, value)
	case "overwrite":
		return t.Codec.DecodeWrite(KindOverwrite, value)
	case "clear":
		return t.Codec.DecodeWrite(KindClear, nil)
	case "remove":
		return t.Codec.ParseRemove(value)
	}
	return Action{}, fmt.Errorf("there is no operation %q", op)
}

// MarshalJSON returns {"channel": …, "op": …, "value": …} for a write to a channel, and
// {"signal": …} for a signal. It omits the value if the channel is never stored.
func (w Write) MarshalJSON() ([]byte, error) {
	if w.channel == nil {
		out := writeJSON{}
		if s := w.Signal(); s != nil {
			out.Signal = s.Signal()
		}
		return json.Marshal(out)
	}
	op, value, err := w.describe()
	if err != nil {
		return nil, NewChannelError(w.Channel(), err)
	}
	return json.Marshal(writeJSON{Channel: w.Channel(), Op: op, Value: value})
}

func (w Write) describe() (op string, value []byte, err error) {
	op = w.action.Kind.String()
	if w.channel.Untracked {
		return op, nil, nil
	}
	defer recoverAs("describing a write", &err)
	return w.channel.Codec.Describe(w.action)
}

// maxShown is the length above which String shortens a value, in bytes.
const maxShown = 60

// String describes the write in a text for people. It shortens a long value.
func (w Write) String() string {
	if w.channel == nil {
		if s := w.Signal(); s != nil {
			return s.Signal()
		}
		return "nothing"
	}
	op, value, err := w.describe()
	text := op + " " + w.channel.Name
	if err != nil || len(value) == 0 {
		return text
	}
	return text + ": " + shortened(string(value))
}

func shortened(s string) string {
	if len(s) <= maxShown {
		return s
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
