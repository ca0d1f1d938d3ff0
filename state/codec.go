package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// codec turns values of one type into JSON and back, and refuses what would
// not come back as it was.
type codec[T any] struct {
	err      error // why the type can not be stored at all
	open     bool  // it holds `any` somewhere, so each value must be looked at
	text     bool  // it is exactly string
	integer  bool  // it is a plain integer type
	verified atomic.Bool
}

func newCodec[T any]() *codec[T] {
	t := reflect.TypeFor[T]()
	c := &codec[T]{text: t == reflect.TypeFor[string]()}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		c.integer = !marshals(t)
	}
	c.open, c.err = inspect(t)
	return c
}

// encoder is pooled: one buffer and one JSON encoder, which does not escape
// HTML.
type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.enc = json.NewEncoder(&e.buf)
	e.enc.SetEscapeHTML(false)
	return e
}}

// append adds the JSON of v to dst.
func (c *codec[T]) append(dst []byte, v T) ([]byte, error) {
	if c.text {
		if s := any(v).(string); plain(s) {
			dst = append(dst, '"')
			dst = append(dst, s...)
			return append(dst, '"'), nil
		}
	}
	if c.integer {
		return strconv.AppendInt(dst, reflect.ValueOf(v).Int(), 10), nil
	}
	start := len(dst)
	dst, err := appendJSON(dst, v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRoundTrip, err)
	}
	if err := c.verify(dst[start:], v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRoundTrip, err)
	}
	return dst, nil
}

func appendJSON(dst []byte, v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf.Reset()
	if err := e.enc.Encode(v); err != nil {
		return nil, err
	}
	out := e.buf.Bytes()
	return append(dst, out[:len(out)-1]...), nil // without the newline
}

// plain reports whether s is its own JSON text.
func plain(s string) bool {
	for i := range len(s) {
		if b := s[i]; b < 0x20 || b >= 0x7f || b == '"' || b == '\\' {
			return false
		}
	}
	return true
}

// verify looks for what JSON loses without an error. The first value of a
// channel makes the whole round trip.
func (c *codec[T]) verify(text []byte, v T) error {
	if c.open {
		if err := lossless(reflect.ValueOf(&v).Elem(), ""); err != nil {
			return err
		}
	}
	if replacedUTF8(text) {
		return errors.New("a string is not valid UTF-8")
	}
	if c.verified.Load() {
		return nil
	}
	back, err := c.decode(text)
	if err != nil {
		return err
	}
	again, err := appendJSON(nil, back)
	if err != nil {
		return err
	}
	if !bytes.Equal(text, again) {
		return fmt.Errorf("%s was written as %.200s and read back as %.200s", reflect.TypeFor[T](), text, again)
	}
	c.verified.Store(true)
	return nil
}

// replacedUTF8 finds the escape that encoding/json writes for a bad byte; a
// true U+FFFD is written as itself.
func replacedUTF8(text []byte) bool {
	escape := []byte(`\ufffd`)
	for from := 0; ; {
		i := bytes.Index(text[from:], escape)
		if i < 0 {
			return false
		}
		i += from
		slashes := 0
		for j := i - 1; j >= 0 && text[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		from = i + len(escape)
	}
}

func (c *codec[T]) decode(text []byte) (T, error) {
	var v T
	if c.text && len(text) >= 2 && text[0] == '"' {
		if inner := string(text[1 : len(text)-1]); plain(inner) && text[len(text)-1] == '"' {
			return any(inner).(T), nil
		}
	}
	if !utf8.Valid(text) {
		return v, fmt.Errorf("%w: not UTF-8", ErrStored)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, fmt.Errorf("%w: %w", ErrStored, err)
	}
	return v, nil
}

// appendList adds a JSON array.
func (c *codec[T]) appendList(dst []byte, items []T) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i, v := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = c.append(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func (c *codec[T]) decodeList(text []byte) ([]T, error) {
	if c.text && len(text) > 4 && text[0] == '[' && text[len(text)-1] == ']' {
		if inner := text[1 : len(text)-1]; inner[0] == '"' && bytes.IndexByte(inner[1:], '"') == len(inner)-2 {
			v, err := c.decode(inner) // one element, the common change
			return []T{v}, err
		}
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrStored)
	}
	var items []T
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStored, err)
	}
	return items, nil
}
