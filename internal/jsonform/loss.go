package jsonform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"
)

// roundTripLoss is an error for a part of a value that storage cannot restore.
// The functions that find a loss add to its path as they return.
// The path thus costs nothing for values without a loss.
type roundTripLoss struct{ path, why string }

func (l *roundTripLoss) Error() string { return "value" + l.path + " " + l.why }

func (l *roundTripLoss) in(part string) *roundTripLoss {
	l.path = part + l.path
	return l
}

func (l *roundTripLoss) inField(name string) *roundTripLoss { return l.in("." + name) }

func (l *roundTripLoss) inIndex(i int) *roundTripLoss { return l.in("[" + strconv.Itoa(i) + "]") }

func (l *roundTripLoss) inKey(k reflect.Value) *roundTripLoss { return l.in(fmt.Sprintf("[%v]", k)) }

// findLoss returns the first part of a value that encoding/json writes without an
// error but reads back as a different value. It skips types with hooks, since
// verifyRoundTrip checks them.
func findLoss(v reflect.Value) *roundTripLoss {
	t := v.Type()
	switch t {
	case timeType, rawType, numberType:
		return findLossBuiltin(v)
	}
	if f := inspect(t); t.Kind() != reflect.Interface && (!f.watch || f.itself) {
		return nil
	}
	switch t.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			return findLossAny(v.Elem())
		}
	case reflect.Pointer:
		return findLossPointer(v)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if l := findLoss(v.Index(i)); l != nil {
				return l.inIndex(i)
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if l := findLoss(it.Value()); l != nil {
				return l.inKey(it.Key())
			}
		}
	case reflect.Struct:
		return findLossStruct(v)
	}
	return nil
}

func findLossStruct(v reflect.Value) *roundTripLoss {
	fields := fieldsOf(v.Type())
	for i := range fields {
		f := &fields[i]
		inner := v.Field(f.index)
		if f.skipped || f.omits(inner) {
			continue
		}
		l := findLoss(inner)
		if text := reflect.Indirect(inner); l == nil && f.quoted && text.IsValid() && !utf8.ValidString(text.String()) {
			l = &roundTripLoss{why: "is not valid UTF-8"}
		}
		if l != nil {
			return l.inField(f.name)
		}
	}
	return nil
}

func findLossPointer(v reflect.Value) *roundTripLoss {
	if v.IsNil() {
		return nil
	}
	inner := v.Elem()
	if nilable(inner.Type()) && inner.IsNil() || inner.Type() == rawType && string(bytes.TrimSpace(inner.Bytes())) == "null" {
		return &roundTripLoss{why: "points to nil, which JSON reads back as a nil pointer"}
	}
	return findLoss(inner)
}

func findLossBuiltin(v reflect.Value) *roundTripLoss {
	if !v.CanInterface() {
		return nil
	}
	switch x := v.Interface().(type) {
	case time.Time:
		if _, offset := x.Zone(); offset%60 != 0 {
			return &roundTripLoss{why: "is a time in a zone whose offset has seconds, which JSON cannot hold; use UTC"}
		}
	case json.RawMessage:
		if x == nil {
			return &roundTripLoss{why: `is a nil json.RawMessage, which JSON reads back as null; tag its field omitempty, or set it to null`}
		}
	case json.Number:
		if x == "" {
			return &roundTripLoss{why: `is an empty json.Number, which JSON reads back as 0; tag its field omitempty, or set it to 0`}
		}
	}
	return nil
}

// findLossAny checks the value in an interface. It returns a loss unless encoding/json decodes
// the value into an any as the same type.
func findLossAny(v reflect.Value) *roundTripLoss {
	if !v.CanInterface() {
		return nil
	}
	switch x := v.Interface().(type) {
	case bool, string, float64:
		return nil
	case []any:
		if x != nil {
			return findLoss(v)
		}
	case map[string]any:
		if x != nil {
			return findLoss(v)
		}
	}
	return &roundTripLoss{why: fmt.Sprintf("is %s inside an any, which JSON reads back as another type; use a typed field, or one of bool, string, float64, []any and map[string]any; a value that need not be stored goes into a channel of state.Untracked", WithArticle(v.Type().String()))}
}
