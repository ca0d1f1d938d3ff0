package runs

import (
	"bytes"
	"encoding/json"
)

// Contains reports whether the JSON value a contains b, as [Query.Metadata] defines it. It is for implementers of
// [Store]. Every value contains an empty b. An empty a counts as an object without keys. Otherwise, invalid JSON
// contains nothing, and nothing contains it.
func Contains(a, b json.RawMessage) bool {
	if len(bytes.TrimSpace(b)) == 0 {
		return true
	}
	x, ok := decode(a)
	if !ok {
		return false
	}
	y, ok := decode(b)
	return ok && contains(x, y)
}

func decode(data json.RawMessage) (v any, ok bool) {
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, true
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := d.Decode(&v)
	return v, err == nil
}

func contains(a, b any) bool {
	switch b := b.(type) {
	case map[string]any:
		object, ok := a.(map[string]any)
		for k, v := range b {
			if !ok {
				return false
			}
			have, has := object[k]
			if !has || !contains(have, v) {
				return false
			}
		}
		return ok
	case []any:
		list, ok := a.([]any)
		for _, v := range b {
			if !ok || !anyContains(list, v) {
				return false
			}
		}
		return ok
	case json.Number:
		n, ok := a.(json.Number)
		return ok && equalNumbers(n, b)
	}
	return a == b
}

func anyContains(list []any, v any) bool {
	for _, have := range list {
		if contains(have, v) {
			return true
		}
	}
	return false
}

// equalNumbers compares integers exactly and other numbers as float64.
func equalNumbers(a, b json.Number) bool {
	x, err := a.Int64()
	y, err2 := b.Int64()
	if err == nil && err2 == nil {
		return x == y
	}
	f, err := a.Float64()
	g, err2 := b.Float64()
	return a == b || err == nil && err2 == nil && f == g
}
