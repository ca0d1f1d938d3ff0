package tools

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A BoundValue describes a [Bound] value in a [Question].
type BoundValue struct {
	// Name is the name of the field or of the argument.
	Name string `json:"name"`
	// Text is the value as text, cut off after 200 characters. It is the result of the
	// value's method Redacted or String if it has one. The text of a secret value may be
	// empty.
	Text string `json:"text,omitempty"`
	// Secret reports that the value has a method Redacted.
	Secret bool `json:"secret,omitempty"`
}

// ErrBoundText is returned when a call needs approval and one of its [Bound] values
// has no text that identifies it, such as a pointer to a database connection. Give
// the type a method String() string.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolserrboundtext.
var ErrBoundText = errors.New("a bound value has no text that identifies it")

// maxBoundText is the maximum number of characters in [BoundValue].Text.
const maxBoundText = 200

// describeBound returns a bound value for a question, and the exact text that an
// approval binds.
func describeBound(name string, value any, pointer any) (shown BoundValue, exact string, err error) {
	shown.Name = name
	text, named := "", false
	switch v := methods(value, pointer).(type) {
	case interface{ Redacted() string }:
		text, named, shown.Secret = v.Redacted(), true, true
	case fmt.Stringer:
		text, named = v.String(), true
	}
	exact, err = exactText(reflect.ValueOf(value))
	if err != nil { // only String identifies the value: Redacted may return the same text for different values
		if exact = stringOf(value, pointer); exact == "" {
			return shown, "", fmt.Errorf("%w: %s: %w; give %T a method String() string", ErrBoundText, name, err, value)
		}
	}
	if !named {
		text = exact
		if v := reflect.ValueOf(value); v.Kind() == reflect.String {
			text = v.String()
		}
	}
	shown.Text = shortened(text, maxBoundText)
	return shown, exact, nil
}

// methods returns the value or the pointer to it, depending on which of them has a method
// Redacted or String. It returns nil if neither has one.
func methods(value, pointer any) any {
	for _, v := range []any{value, pointer} {
		switch v.(type) {
		case interface{ Redacted() string }, fmt.Stringer:
			return v
		}
	}
	return nil
}

// stringOf returns the result of the String method of the value or of the pointer to it, or "".
func stringOf(value, pointer any) string {
	for _, v := range []any{value, pointer} {
		if s, ok := v.(fmt.Stringer); ok {
			return s.String()
		}
	}
	return ""
}

func shortened(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// exactText returns a text that differs for different values. It reads unexported fields
// too, because JSON would omit them.
func exactText(v reflect.Value) (string, error) {
	var b strings.Builder
	err := writeExact(&b, v, 0)
	return b.String(), err
}

// maxExactDepth limits the nesting of a value, because a value may contain itself.
const maxExactDepth = 50

func writeExact(b *strings.Builder, v reflect.Value, depth int) error {
	if depth > maxExactDepth {
		return errors.New("it is nested too deeply")
	}
	if done, err := writeMarshalled(b, v); done {
		return err
	}
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("null")
	case reflect.Bool:
		b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		b.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		b.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.String:
		b.WriteString(strconv.Quote(v.String()))
	case reflect.Pointer, reflect.Interface:
		if v.Kind() == reflect.Interface && !v.IsNil() {
			fmt.Fprintf(b, "%s ", v.Elem().Type())
		}
		return writeExact(b, v.Elem(), depth+1)
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return writeExactParts(b, v, depth)
	default:
		return fmt.Errorf("a %s cannot be compared", v.Kind())
	}
	return nil
}

// writeMarshalled writes a value that encodes itself. The result done reports whether v encodes
// itself.
func writeMarshalled(b *strings.Builder, v reflect.Value) (done bool, err error) {
	if !v.IsValid() || !v.CanInterface() || v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.IsNil() {
		return false, nil
	}
	switch v.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		text, err := json.Marshal(v.Interface())
		b.Write(text)
		return true, err
	}
	return false, nil
}

func writeExactParts(b *strings.Builder, v reflect.Value, depth int) error {
	var parts []string
	add := func(name string, part reflect.Value) error {
		var inner strings.Builder
		if name != "" {
			inner.WriteString(name + ": ")
		}
		err := writeExact(&inner, part, depth+1)
		parts = append(parts, inner.String())
		return err
	}
	open, end := "{", "}"
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if err := add(v.Type().Field(i).Name, v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			name, err := exactText(key)
			if err = errors.Join(err, add(name, v.MapIndex(key))); err != nil {
				return err
			}
		}
		slices.Sort(parts)
	default:
		open, end = "[", "]"
		for i := range v.Len() {
			if err := add("", v.Index(i)); err != nil {
				return err
			}
		}
	}
	b.WriteString(open + strings.Join(parts, ", ") + end)
	return nil
}
