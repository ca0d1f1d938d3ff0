package jsonform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/weft-go/weft/internal/suggest"
)

// Read decodes JSON that a person or another program wrote, such as an answer. Unlike
// [Unmarshal], it returns an error for a field that T does not have, and for null, unless T can
// be nil or has no data. A type with UnmarshalJSON decides itself. On an error, Read returns the zero value.
func Read[T any](data []byte) (T, error) {
	var v, zero T
	if err := New[T]().read(data, &v); err != nil {
		return zero, err
	}
	return v, nil
}

// read decodes a value to the address v.
func (c *codec) read(data []byte, v any) (err error) {
	defer recoverAs("reading JSON", &err)
	if string(bytes.TrimSpace(data)) == "null" && !takesNull(c.t) {
		return fmt.Errorf("want %s, got null", WithArticle(c.t.String()))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return explain(err, c.t)
	}
	if !utf8.Valid(data) {
		return errUTF8
	}
	if c.times != nil {
		c.times(reflect.ValueOf(v).Elem(), 0)
	}
	return nil
}

// takesNull reports whether null can be decoded into type t without loss: t can be nil, has size zero, or decodes JSON itself.
func takesNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		return true
	}
	return t.Size() == 0 || reflect.PointerTo(t).Implements(jsonUnmarshaler)
}

// explain rewrites an error of encoding/json about a value of type t for the person who wrote
// the value.
func explain(err error, t reflect.Type) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := ""
		if e.Field != "" {
			at = fmt.Sprintf(" in the field %q", e.Field)
		}
		got := WithArticle(e.Value)
		if strings.Contains(e.Value, " ") { // such as "number 1.5"
			got = "the " + e.Value
		}
		return fmt.Errorf("want %s%s, got %s", WithArticle(e.Type.String()), at, got)
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		keys := keysOf(t, map[reflect.Type]bool{}) // encoding/json does not say which struct lacks the field
		return fmt.Errorf("want %s, got the unknown field %s%s", WithArticle(t.String()), quoted, suggest.For(strings.Trim(quoted, `"`), keys))
	}
	return err
}

// keysOf returns the JSON names of the fields of all struct types in t, except of those in seen. It adds the
// types to seen.
func keysOf(t reflect.Type, seen map[reflect.Type]bool) (keys []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return keysOf(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] || hooksOf(t).reads {
		return nil
	}
	seen[t] = true
	for _, f := range fieldsOf(t) {
		if f.skipped || f.lost {
			continue
		}
		if f.key != "" {
			keys = append(keys, f.key)
		}
		keys = append(keys, keysOf(t.Field(f.index).Type, seen)...)
	}
	return keys
}

// WithArticle returns the name of a type after "a" or "an".
func WithArticle(name string) string {
	if name != "" && strings.Contains("aeioAEIO", name[:1]) {
		return "an " + name
	}
	return "a " + name
}
