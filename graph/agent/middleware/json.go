package middleware

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// mapJSON returns a JSON text with its strings and the names of its fields changed. If change
// changes a number, the result has a string in its place. A text that is not JSON is returned
// unchanged.
func mapJSON(text json.RawMessage, change func(string) string) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(mapStrings(value, change)) != nil {
		return text
	}
	return bytes.TrimSpace(out.Bytes())
}

func mapStrings(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = mapStrings(v[i], change)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) { // placeholders are numbered in this order
			out[change(key)] = mapStrings(v[key], change)
		}
		return out
	case json.Number:
		if text := change(v.String()); text != v.String() {
			return text
		}
	}
	return value
}
