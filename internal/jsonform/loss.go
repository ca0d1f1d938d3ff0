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

// loss says what of a value would not come back from storage. The path grows
// on the way out, so that a good value pays nothing for it.
type loss struct{ path, why string }

func (l *loss) Error() string { return "value" + l.path + " " + l.why }

func (l *loss) in(part string) *loss {
	l.path = part + l.path
	return l
}

func (l *loss) inField(name string) *loss { return l.in("." + name) }

func (l *loss) inIndex(i int) *loss { return l.in("[" + strconv.Itoa(i) + "]") }

func (l *loss) inKey(k reflect.Value) *loss { return l.in(fmt.Sprintf("[%v]", k)) }

// findLoss looks at those parts of a value which JSON writes without an error
// and reads back as something else. Types with hooks are left to verifyRoundTrip.
func findLoss(v reflect.Value) *loss {
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

func findLossStruct(v reflect.Value) *loss {
	fields := fieldsOf(v.Type())
	for i := range fields {
		f := &fields[i]
		inner := v.Field(f.index)
		if f.skipped || f.omits(inner) {
			continue
		}
		l := findLoss(inner)
		if text := reflect.Indirect(inner); l == nil && f.quoted && text.IsValid() && !utf8.ValidString(text.String()) {
			l = &loss{why: "is not valid UTF-8"}
		}
		if l != nil {
			return l.inField(f.name)
		}
	}
	return nil
}

func findLossPointer(v reflect.Value) *loss {
	if v.IsNil() {
		return nil
	}
	inner := v.Elem()
	if nilable(inner.Type()) && inner.IsNil() || inner.Type() == rawType && string(bytes.TrimSpace(inner.Bytes())) == "null" {
		return &loss{why: "points to a nil, which JSON reads back as a nil pointer"}
	}
	return findLoss(inner)
}

func findLossBuiltin(v reflect.Value) *loss {
	if !v.CanInterface() {
		return nil
	}
	switch x := v.Interface().(type) {
	case time.Time:
		if _, offset := x.Zone(); offset%60 != 0 {
			return &loss{why: "is a time in a zone whose offset has seconds, which JSON cannot hold; use UTC"}
		}
	case json.RawMessage:
		if x == nil {
			return &loss{why: `is a nil json.RawMessage, which JSON reads back as null; tag its field omitempty, or set it to null`}
		}
	case json.Number:
		if x == "" {
			return &loss{why: `is an empty json.Number, which JSON reads back as 0; tag its field omitempty, or set it to 0`}
		}
	}
	return nil
}

// findLossAny checks what a value of an interface type holds: only what JSON
// reads back as the same Go type may stand there.
func findLossAny(v reflect.Value) *loss {
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
	return &loss{why: fmt.Sprintf("is a %s inside an any, which JSON reads back as another type; use a typed field, or one of bool, string, float64, []any and map[string]any", v.Type())}
}
