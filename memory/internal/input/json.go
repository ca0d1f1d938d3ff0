package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Decode decodes one JSON value. Numbers keep their text.
func Decode(data json.RawMessage) (v any, err error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("not UTF-8: %w", ErrInvalid)
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("no JSON: %w", ErrInvalid)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return v, nil
}

// Encode returns a value as JSON, without escapes for HTML.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
