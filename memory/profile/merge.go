package profile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/weft-go/weft/memory"
)

// Merge returns a document with a merge patch applied (RFC 7396): fields of the patch take the
// place of the document's, objects are merged with objects, and a null removes. Numbers stay
// as they are written. An empty document stands for none. What is no JSON is a
// [memory.ErrInvalid].
func Merge(document, patch json.RawMessage) (json.RawMessage, error) {
	var target any
	if len(bytes.TrimSpace(document)) > 0 {
		var err error
		if target, err = decode(document); err != nil {
			return nil, fmt.Errorf("profile: merge: document: %w", err)
		}
	}
	change, err := decode(patch)
	if err != nil {
		return nil, fmt.Errorf("profile: merge: patch: %w", err)
	}
	merged, err := encode(merge(target, change))
	if err != nil {
		return nil, fmt.Errorf("profile: merge: %w", err)
	}
	return merged, nil
}

func merge(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	merged, ok := target.(map[string]any)
	if !ok {
		merged = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(merged, name)
		} else {
			merged[name] = merge(merged[name], value)
		}
	}
	return merged
}

// decode reads one value of JSON, with its numbers as they are written.
func decode(data json.RawMessage) (v any, err error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("not UTF-8: %w", memory.ErrInvalid)
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("no JSON: %w", memory.ErrInvalid)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
	}
	return v, nil
}

func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
