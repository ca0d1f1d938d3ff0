package jsonform

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"
)

// comparison compares a value with its stored copy. It compares only stored parts:
// exported fields that are not tagged json:"-". A nil slice or map equals an empty
// one, since many types with methods for JSON do not distinguish them.
type comparison struct {
	path   map[address]bool // the followed pointers, since a value may refer to itself
	opaque bool             // some part cannot be compared, so the JSON must be compared
}

type address struct {
	reflect.Type
	at uintptr
}

func (s *comparison) compare(a, b reflect.Value) *roundTripLoss {
	switch {
	case !a.IsValid() || !b.IsValid():
		return differ(a.IsValid() == b.IsValid())
	case a.Type() != b.Type():
		return differ(false)
	}
	if l, known := compareKnown(a, b); known {
		return l
	}
	switch a.Kind() {
	case reflect.Interface:
		return s.compare(a.Elem(), b.Elem())
	case reflect.Pointer:
		return s.comparePointers(a, b)
	case reflect.Slice, reflect.Array:
		return s.compareLists(a, b)
	case reflect.Map:
		return s.compareMaps(a, b)
	case reflect.Struct:
		return s.compareStructs(a, b)
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return nil // values of these kinds are never stored
	}
	return differ(a.Equal(b))
}

// differ returns an error unless same is true. The error does not contain the values,
// since errors may be logged.
func differ(same bool) *roundTripLoss {
	if same {
		return nil
	}
	return &roundTripLoss{why: "is different after it is read back"}
}

// compareKnown compares times, raw JSON, and values of types with an Equal method, except
// pointers, interfaces and structs with stored fields. For all other values, known is false.
func compareKnown(a, b reflect.Value) (l *roundTripLoss, known bool) {
	if !a.CanInterface() {
		return nil, false
	}
	switch x := a.Interface().(type) {
	case time.Time:
		y, _ := b.Interface().(time.Time)
		_, dx := x.Zone()
		_, dy := y.Zone()
		return differ(x.Equal(y) && dx == dy), true
	case json.RawMessage:
		y, _ := b.Interface().(json.RawMessage)
		return differ(bytes.Equal(compact(x), compact(y))), true
	}
	t := a.Type()
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t.Kind() == reflect.Struct && stores(t) {
		return nil, false
	}
	m, ok := t.MethodByName("Equal")
	if !ok || m.Type.NumIn() != 2 || m.Type.In(1) != t || m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.Bool {
		return nil, false
	}
	return differ(a.MethodByName("Equal").Call([]reflect.Value{b})[0].Bool()), true
}

// compact removes white space from JSON. It returns nil for null and for invalid JSON.
func compact(raw json.RawMessage) []byte {
	var out bytes.Buffer
	if len(raw) == 0 || json.Compact(&out, raw) != nil || out.String() == "null" {
		return nil
	}
	return out.Bytes()
}

// stores reports whether a struct type has stored fields.
func stores(t reflect.Type) bool {
	for _, f := range fieldsOf(t) {
		if !f.skipped && !f.lost {
			return true
		}
	}
	return false
}

func (s *comparison) comparePointers(a, b reflect.Value) *roundTripLoss {
	if a.IsNil() || b.IsNil() {
		return differ(a.IsNil() == b.IsNil())
	}
	at := address{a.Type(), a.Pointer()}
	if s.path[at] {
		return nil
	}
	if s.path == nil {
		s.path = map[address]bool{}
	}
	s.path[at] = true
	defer delete(s.path, at)
	return s.compare(a.Elem(), b.Elem())
}

func (s *comparison) compareLists(a, b reflect.Value) *roundTripLoss {
	if a.Len() != b.Len() {
		return differ(false)
	}
	for i := range a.Len() {
		if l := s.compare(a.Index(i), b.Index(i)); l != nil {
			return l.inIndex(i)
		}
	}
	return nil
}

func (s *comparison) compareMaps(a, b reflect.Value) *roundTripLoss {
	if a.Len() != b.Len() {
		return differ(false)
	}
	for it := a.MapRange(); it.Next(); {
		if l := s.compare(it.Value(), b.MapIndex(it.Key())); l != nil {
			return l.inKey(it.Key())
		}
	}
	return nil
}

func (s *comparison) compareStructs(a, b reflect.Value) *roundTripLoss {
	s.opaque = s.opaque || !stores(a.Type())
	for _, f := range fieldsOf(a.Type()) {
		if f.skipped || f.lost {
			continue
		}
		if l := s.compare(a.Field(f.index), b.Field(f.index)); l != nil {
			return l.inField(f.name)
		}
	}
	return nil
}

// shuffled reports whether two texts consist of the same bytes in any order. A type
// may write the elements of a set in random order.
func shuffled(a, b []byte) bool {
	var count [256]int
	for _, c := range a {
		count[c]++
	}
	for _, c := range b {
		count[c]--
	}
	return count == [256]int{}
}
