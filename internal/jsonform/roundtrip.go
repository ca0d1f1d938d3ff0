package jsonform

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"
)

// comparison compares a value with what was read back of it. It follows what is
// stored: exported fields that are not tagged json:"-". Nil and empty are the
// same to it, as types that write themselves often do not tell them apart.
type comparison struct {
	way    map[address]bool // the pointers on the way, as a value may hold itself
	opaque bool             // something could only be compared by its text
}

type address struct {
	reflect.Type
	at uintptr
}

func (s *comparison) compare(a, b reflect.Value) *loss {
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
		return nil // nothing that a form of its own could keep
	}
	return differ(a.Equal(b))
}

// differ does not say what the values are: an error may end up in a log.
func differ(same bool) *loss {
	if same {
		return nil
	}
	return &loss{why: "is not read back as it is written"}
}

// compareKnown compares what has a notion of sameness of its own.
func compareKnown(a, b reflect.Value) (l *loss, known bool) {
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

// compact returns JSON without its blanks; nil for null, which it stands for.
func compact(raw json.RawMessage) []byte {
	var out bytes.Buffer
	if len(raw) == 0 || json.Compact(&out, raw) != nil || out.String() == "null" {
		return nil
	}
	return out.Bytes()
}

// stores reports whether a struct type has fields that comparison can follow.
func stores(t reflect.Type) bool {
	for _, f := range fieldsOf(t) {
		if !f.skipped && !f.lost {
			return true
		}
	}
	return false
}

func (s *comparison) comparePointers(a, b reflect.Value) *loss {
	if a.IsNil() || b.IsNil() {
		return differ(a.IsNil() == b.IsNil())
	}
	at := address{a.Type(), a.Pointer()}
	if s.way[at] {
		return nil
	}
	if s.way == nil {
		s.way = map[address]bool{}
	}
	s.way[at] = true
	defer delete(s.way, at)
	return s.compare(a.Elem(), b.Elem())
}

func (s *comparison) compareLists(a, b reflect.Value) *loss {
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

func (s *comparison) compareMaps(a, b reflect.Value) *loss {
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

func (s *comparison) compareStructs(a, b reflect.Value) *loss {
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

// shuffled reports whether two texts have the same bytes in any order: a type
// may write the elements of a set as they come.
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
