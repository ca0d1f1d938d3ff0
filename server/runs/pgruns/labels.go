package pgruns

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// labelsOf converts JSON so that PostgreSQL's operator @> compares it as runs.Contains does, and that jsonb can store it:
// without NUL and without numbers that are too large.
func labelsOf(data json.RawMessage) (string, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return "{}", nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	out, err := json.Marshal(label(v))
	return string(out), err
}

func label(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[escaped(k)] = label(e)
		}
		return out
	case []any:
		for i := range v {
			v[i] = label(v[i])
		}
	case string:
		return escaped(v)
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return v
		}
		f, err := v.Float64()
		if err != nil {
			return mark + "n" + v.String() // equal only to a number with the same text
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return v
}

// mark begins an escape. It is a private-use character of Unicode.
const mark = "\ue000"

var escapes = strings.NewReplacer(mark, mark+"e", "\x00", mark+"0")

func escaped(text string) string { return escapes.Replace(text) }
