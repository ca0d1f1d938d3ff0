package jsonform

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

// A Codec converts values of one type to JSON and back. It returns an error for a value
// that JSON cannot restore unchanged. If a type has methods for JSON or text, the codec
// reads each written value back and compares it.
type Codec[T any] struct {
	codec
	isString bool // T is the type string
}

// A codec is the part of a [Codec] that is compiled once for all types. It handles a value through a pointer.
type codec struct {
	findings
	t         reflect.Type
	form      form
	upgrade   Upgrade                       // may be nil
	times     copier                        // applies storedTime to each time; may be nil
	same      func(a, b reflect.Value) bool // reports whether two elements have the same key; may be nil
	idChecked atomic.Bool                   // same was checked with one value, which is enough
}

// form selects the algorithm that encodes values.
type form uint8

const (
	general  form = iota // any value, encoded by encoding/json
	text                 // a string
	signed               // a signed integer
	unsigned             // an unsigned integer
)

// New returns a codec for values of type T. Call Err before the first use.
func New[T any]() *Codec[T] {
	t := reflect.TypeFor[T]()
	c := &Codec[T]{isString: t == reflect.TypeFor[string]()}
	c.findings, c.t, c.form, c.times = inspect(t), t, formOf(t), timesCopierOf(t)
	return c
}

// Err returns an error if values of type T cannot be stored.
func (c *codec) Err() error { return c.err }

// Checked reports whether the encoding of a value of type T inspects the value or reads it back,
// for example because T holds an interface, a time or raw JSON, or has methods for JSON or text.
// It returns false for types such as string and float64, although a string that is not UTF-8, NaN
// and infinities cannot be stored.
func (c *codec) Checked() bool { return c.watch || c.hooked }

// CheckIdentity makes the codec verify that the key of an element is stored.
// The codec calls same with the first value that it encodes and its decoded copy.
// The encoding fails if same returns false.
func (c *Codec[T]) CheckIdentity(same func(a, b T) bool) {
	c.same = func(a, b reflect.Value) bool { return same(*a.Addr().Interface().(*T), *b.Addr().Interface().(*T)) }
}

func formOf(t reflect.Type) form {
	if h := hooksOf(t); h.writes || h.reads || t == numberType {
		return general
	}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return signed
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return unsigned
	}
	return general
}

var errUTF8 = errors.New("a string is not valid UTF-8")

// Encode returns the JSON of v. The error wraps [ErrRoundTrip].
func (c *Codec[T]) Encode(v T) ([]byte, error) { return c.Append(nil, v) }

// Append appends the JSON of v to dst. The error wraps [ErrRoundTrip].
func (c *Codec[T]) Append(dst []byte, v T) ([]byte, error) {
	if c.form != general {
		return c.appendBasic(dst, reflect.ValueOf(v))
	}
	general := v // v itself would be on the heap in every form
	return c.appendGeneral(dst, &general)
}

func (c *codec) appendBasic(dst []byte, v reflect.Value) ([]byte, error) {
	switch c.form {
	case signed:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case unsigned:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	}
	out, ok := quote(dst, v.String())
	if !ok {
		return nil, fmt.Errorf("%w: %w", ErrRoundTrip, errUTF8)
	}
	return out, nil
}

// appendGeneral appends the output of encoding/json for the value at the pointer v.
func (c *codec) appendGeneral(dst []byte, v any) ([]byte, error) {
	start := len(dst)
	dst, err := appendJSON(dst, v)
	if err == nil {
		err = c.check(dst[start:], reflect.ValueOf(v).Elem())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRoundTrip, err)
	}
	return dst, nil
}

// encoder is a buffer with a JSON encoder that does not escape HTML.
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

// appendJSON appends the JSON of the value that the pointer v points to.
// encoding/json calls pointer methods only for addressable values.
func appendJSON(dst []byte, v any) (_ []byte, err error) {
	defer recoverAs("writing it as JSON", &err)
	e := encoders.Get().(*encoder)
	e.buf.Reset()
	if err := e.enc.Encode(v); err != nil {
		return nil, err
	}
	out := e.buf.Bytes()
	dst = append(dst, out[:len(out)-1]...) // without the newline at the end
	if e.buf.Cap() <= 1<<16 {
		encoders.Put(e)
	}
	return dst, nil
}

// check returns an error if text, the JSON of value, does not represent all of value.
func (c *codec) check(text []byte, value reflect.Value) (err error) {
	defer recoverAs("reading it back", &err)
	if tooDeep(text) {
		return errors.New("it is nested too deeply to be read back")
	}
	if (c.raw || c.hooked) && !utf8.Valid(text) {
		return errors.New("its JSON is not valid UTF-8")
	}
	if replacement(text) {
		// Only raw JSON or the output of a hook may contain this escape on purpose.
		if !c.raw && !c.hooked {
			return errUTF8
		}
		if l := badText(value, map[address]bool{}); l != nil {
			return l
		}
	}
	if c.watch {
		if l := findLoss(value); l != nil {
			return l
		}
	}
	if c.hooked || c.same != nil && !c.idChecked.Load() {
		return c.verifyRoundTrip(text, value)
	}
	return nil
}

// verifyRoundTrip decodes text, the JSON of v, and compares the result with v.
func (c *codec) verifyRoundTrip(text []byte, v reflect.Value) error {
	pointer := reflect.New(c.t)
	back := pointer.Elem()
	if err := unmarshal(text, pointer.Interface()); err != nil {
		return fmt.Errorf("it cannot be read back: %w", err)
	}
	if c.same != nil {
		if !c.same(v, back) {
			return errors.New("its key is not stored, so the stored element would have another key")
		}
		c.idChecked.Store(true)
	}
	if !c.hooked {
		return nil
	}
	s := comparison{}
	if l := s.compare(v, back); l != nil {
		return l
	}
	if !s.opaque {
		return nil
	}
	again, err := appendJSON(nil, pointer.Interface())
	if err == nil && !bytes.Equal(text, again) && !shuffled(text, again) {
		err = errors.New("its JSON is different after it is read back")
	}
	return err
}

func unmarshal(text []byte, v any) (err error) {
	defer recoverAs("reading JSON", &err)
	return json.Unmarshal(text, v)
}

// Decode decodes stored JSON. It calls the Upgrade function first.
// The error wraps [ErrStored].
func (c *Codec[T]) Decode(data []byte) (v T, err error) {
	if data, err = c.upgraded(data); err == nil {
		v, err = c.Parse(data)
	}
	if err != nil {
		return v, c.unread(err)
	}
	return v, nil
}

// Parse decodes JSON in the current form, such as a user's input. It does not call the Upgrade function.
func (c *Codec[T]) Parse(data []byte) (v T, err error) {
	if c.isString {
		if s, ok := unquote(data); ok {
			return any(s).(T), nil
		}
	}
	err = c.parse(data, &v)
	return v, err
}

// parse decodes a value to the address v.
func (c *codec) parse(data []byte, v any) error {
	into := reflect.ValueOf(v).Elem()
	switch c.form {
	case text:
		if s, ok := unquote(data); ok {
			into.SetString(s)
			return nil
		}
	case signed, unsigned:
		if c.setDigits(into, data) {
			return nil
		}
	}
	err := unmarshal(data, v)
	if err == nil && !utf8.Valid(data) {
		err = errUTF8
	}
	if err == nil && c.times != nil {
		c.times(into, 0)
	}
	return err
}

// setDigits decodes an integer in the form that Encode writes. It reports false for any other text, which
// encoding/json must decode.
func (c *codec) setDigits(into reflect.Value, data []byte) bool {
	digits, negative := data, false
	if len(data) > 0 && data[0] == '-' && c.form == signed {
		digits, negative = data[1:], true
	}
	const most = 18 // a number with 18 digits fits into an int64
	if len(digits) == 0 || len(digits) > most || digits[0] == '0' && len(data) > 1 {
		return false
	}
	var n int64
	for _, b := range digits {
		if b < '0' || b > '9' {
			return false
		}
		n = 10*n + int64(b-'0')
	}
	if negative {
		n = -n
	}
	if c.form == unsigned {
		if into.OverflowUint(uint64(n)) {
			return false
		}
		into.SetUint(uint64(n))
		return true
	}
	if into.OverflowInt(n) {
		return false
	}
	into.SetInt(n)
	return true
}

// scratch holds buffers for EncodeList. The result of EncodeList is a copy without
// spare capacity, since stores keep the result.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// EncodeList returns the JSON array of items. The error wraps [ErrRoundTrip].
func (c *Codec[T]) EncodeList(items []T) ([]byte, error) {
	buf := scratch.Get().(*[]byte)
	out, err := c.AppendList((*buf)[:0], items)
	if err != nil {
		return nil, err
	}
	data := append(make([]byte, 0, len(out)), out...)
	if cap(out) <= 1<<16 {
		*buf = out
		scratch.Put(buf)
	}
	return data, nil
}

// AppendList appends the JSON array of items to dst. The error wraps [ErrRoundTrip].
func (c *Codec[T]) AppendList(dst []byte, items []T) ([]byte, error) {
	var err error
	dst = append(dst, '[')
	for i, v := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = c.Append(dst, v); err != nil {
			if len(items) > 1 {
				err = fmt.Errorf("element %d: %w", i, err)
			}
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// DecodeList decodes a stored JSON array. It calls the Upgrade function first.
// The error wraps [ErrStored].
func (c *Codec[T]) DecodeList(data []byte) (items []T, err error) {
	if data, err = c.upgradedList(data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStored, err)
	}
	if items, err = c.ParseList(data); err != nil {
		return nil, c.unread(err)
	}
	return items, nil
}

// ParseList decodes a JSON array in the current form. It does not call the Upgrade function.
func (c *Codec[T]) ParseList(data []byte) (items []T, err error) {
	if n := len(data) - 1; c.isString && n > 2 && data[0] == '[' && data[n] == ']' {
		if s, ok := unquote(data[1:n]); ok { // most arrays have one element
			return []T{any(s).(T)}, nil
		}
	}
	err = c.parseList(data, &items)
	return items, err
}

// parseList decodes a list to the address items.
func (c *codec) parseList(data []byte, items any) error {
	err := unmarshal(data, items)
	if err == nil && !utf8.Valid(data) {
		err = errUTF8
	}
	if err == nil && c.times != nil {
		list := reflect.ValueOf(items).Elem()
		for i := range list.Len() {
			c.times(list.Index(i), 0)
		}
	}
	return err
}
