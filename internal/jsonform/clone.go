package jsonform

import (
	"encoding/json"
	"errors"
	"reflect"
	"sync"
)

// Cloner returns a function that makes deep copies of values of type T. The function also
// applies storedTime to the times in the copy. Cloner returns nil if an assignment already
// makes a deep copy and no times are stored.
func Cloner[T any]() func(T) T {
	clone, times := structuralCloner[T](), timesCopierOf(reflect.TypeFor[T]())
	if times == nil {
		return clone
	}
	return func(v T) T {
		if clone != nil {
			v = clone(v)
		}
		times(reflect.ValueOf(&v).Elem(), 0)
		return v
	}
}

func structuralCloner[T any]() func(T) T {
	type clones interface{ Clone() T }
	t := reflect.TypeFor[T]()
	if _, ok := any((*T)(nil)).(clones); ok && !nilable(t) {
		return func(v T) T { return any(&v).(clones).Clone() }
	}
	c := copierOf(t)
	if c == nil {
		return nil
	}
	return func(v T) T {
		c(reflect.ValueOf(&v).Elem(), 0)
		return v
	}
}

// A copier replaces the slices, maps and pointers in v by copies.
// The value v must be settable. The depth is the number of references above v.
type copier func(v reflect.Value, depth int)

// maxDepth is the depth at which a copier panics. Without this limit, a value that
// refers to itself would exhaust the stack.
const maxDepth = 10_000

var errEndless = errors.New("state: a value refers to itself, or has more than 10000 levels of references")

var copiers sync.Map // reflect.Type → copier

// copierOf returns the copier of a type, or nil if its values need no copier.
func copierOf(t reflect.Type) copier {
	if known, ok := copiers.Load(t); ok {
		return known.(copier)
	}
	b := copierBuilder{}
	c := b.of(t)
	copiers.Store(t, c)
	return c
}

// copierBuilder builds the copier of a type. It holds the copiers of the parts of the
// type, since a recursive type needs its copier while the copier is built.
type copierBuilder map[reflect.Type]*copier

func (b copierBuilder) of(t reflect.Type) copier {
	if shared(t) {
		return nil
	}
	if begun, ok := b[t]; ok {
		return func(v reflect.Value, depth int) {
			if *begun != nil {
				(*begun)(v, depth)
			}
		}
	}
	begun := new(copier)
	b[t] = begun
	*begun = b.build(t)
	return *begun
}

// shared reports whether a value of type t and its copy may share memory.
func shared(t reflect.Type) bool {
	if shareable(t) || t.Kind() != reflect.Pointer {
		return shareable(t)
	}
	inner := t.Elem()
	// A pointer to a struct that cannot be copied, such as a client or a lock,
	// is shared. Such a pointer is in a field that is not stored.
	return inner.PkgPath() == "time" && inner != timeType ||
		inner.Kind() == reflect.Struct && !cloneMethod(inner).found() && !cloneMethod(t).found() && !copyable(inner) && !rereads(inner)
}

func (b copierBuilder) build(t reflect.Type) copier {
	if m := cloneMethod(t); m.found() {
		return m.copier(t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointerCopier(t, b.of(t.Elem()))
	case reflect.Slice:
		return sliceCopier(t, b.of(t.Elem()))
	case reflect.Map:
		return mapCopier(t, b.of(t.Elem()))
	case reflect.Array:
		return arrayCopier(b.of(t.Elem()))
	case reflect.Interface:
		return copyInterface
	case reflect.Struct:
		if !copyable(t) && rereads(t) {
			return rereader(t)
		}
		return b.structCopier(t)
	}
	return nil
}

func deeper(depth int) int {
	if depth >= maxDepth {
		panic(errEndless)
	}
	return depth + 1
}

func pointerCopier(t reflect.Type, inner copier) copier {
	return func(v reflect.Value, depth int) {
		if v.IsNil() {
			return
		}
		p := reflect.New(t.Elem())
		p.Elem().Set(v.Elem())
		if inner != nil {
			inner(p.Elem(), deeper(depth))
		}
		v.Set(p)
	}
}

func sliceCopier(t reflect.Type, inner copier) copier {
	return func(v reflect.Value, depth int) {
		if v.IsNil() {
			return
		}
		n := v.Len()
		s := reflect.MakeSlice(t, n, n)
		reflect.Copy(s, v)
		if inner != nil {
			depth = deeper(depth)
			for i := range n {
				inner(s.Index(i), depth)
			}
		}
		v.Set(s)
	}
}

func arrayCopier(inner copier) copier {
	if inner == nil {
		return nil
	}
	return func(v reflect.Value, depth int) {
		for i := range v.Len() {
			inner(v.Index(i), depth)
		}
	}
}

func mapCopier(t reflect.Type, inner copier) copier {
	return func(v reflect.Value, depth int) {
		if v.IsNil() {
			return
		}
		depth = deeper(depth)
		m := reflect.MakeMapWithSize(t, v.Len())
		for it := v.MapRange(); it.Next(); {
			e := it.Value()
			if inner != nil {
				e = reflect.New(t.Elem()).Elem()
				e.Set(it.Value())
				inner(e, depth)
			}
			m.SetMapIndex(it.Key(), e)
		}
		v.Set(m)
	}
}

func copyInterface(v reflect.Value, depth int) {
	if v.IsNil() {
		return
	}
	t := v.Elem().Type()
	c := copierOf(t)
	if c == nil {
		return
	}
	inner := reflect.New(t).Elem()
	inner.Set(v.Elem())
	c(inner, deeper(depth))
	v.Set(inner)
}

func (b copierBuilder) structCopier(t reflect.Type) copier {
	var parts []fieldCopier
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && (!f.Anonymous || f.Type.Kind() != reflect.Struct) {
			continue
		}
		var c copier
		if f.IsExported() {
			c = b.of(f.Type)
		} else {
			c = b.structCopier(f.Type) // the exported fields of an embedded struct can be set
		}
		if c != nil {
			parts = append(parts, fieldCopier{i, c})
		}
	}
	return copyFields(parts)
}

// fieldCopier copies one struct field.
type fieldCopier struct {
	index int
	copy  copier
}

func copyFields(parts []fieldCopier) copier {
	if len(parts) == 0 {
		return nil
	}
	return func(v reflect.Value, depth int) {
		for _, p := range parts {
			p.copy(v.Field(p.index), depth)
		}
	}
}

// copyable reports whether a copier can replace every reference in a struct. A copier
// can set only exported fields.
func copyable(t reflect.Type) bool {
	if locks(t) {
		return false
	}
	for f := range t.Fields() {
		switch {
		case f.Name == "_" || shareable(f.Type):
		case f.Anonymous && f.Type.Kind() == reflect.Struct, f.IsExported() && f.Type.Kind() == reflect.Struct:
			if !copyable(f.Type) && !(f.IsExported() && (cloneMethod(f.Type).found() || rereads(f.Type))) {
				return false
			}
		case !f.IsExported() && refers(f.Type):
			return false
		}
	}
	return true
}

// locks reports whether values of a type must not be copied after their first use.
func locks(t reflect.Type) bool { return t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic" }

// shareable reports whether values of a type refer only to immutable memory.
func shareable(t reflect.Type) bool {
	switch t.PkgPath() {
	case "time", "net/netip", "unique":
		return true
	}
	return false
}

// refers reports whether values of a type refer to memory that can change.
func refers(t reflect.Type) bool {
	switch {
	case shareable(t):
		return false
	case locks(t):
		return true
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface, reflect.Chan, reflect.UnsafePointer:
		return true
	case reflect.Array:
		return refers(t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if refers(f.Type) {
				return true
			}
		}
	}
	return false
}

// rereads reports whether a type has methods that write and read its stored form. Such
// a type can be copied through its stored form.
func rereads(t reflect.Type) bool {
	h := hooksOf(t)
	return h.writes && h.readsBack
}

// rereader returns a copier that copies a value through its stored form. If the copy
// fails, the value does not change, and a later encoding returns the error.
func rereader(t reflect.Type) copier {
	return func(v reflect.Value, _ int) {
		data, err := appendJSON(nil, v.Addr().Interface())
		if err != nil {
			return
		}
		out := reflect.New(t)
		if json.Unmarshal(data, out.Interface()) == nil {
			v.Set(out.Elem())
		}
	}
}

// cloning describes the signature of the Clone method of a type T.
type cloning uint8

const (
	byNone    cloning = iota // no suitable Clone method
	byValue                  // the receiver is a T and the result is a T
	byPointer                // the receiver is a *T and the result is a T
	toPointer                // the receiver is a *T and the result is a *T
)

func (m cloning) found() bool { return m != byNone }

// cloneMethod returns the signature of the Clone method of t or *t.
// It ignores a Clone method whose result is neither t nor *t.
func cloneMethod(t reflect.Type) cloning {
	if t.Kind() == reflect.Interface {
		return byNone
	}
	if m, ok := t.MethodByName("Clone"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && m.Type.Out(0) == t {
		return byValue
	}
	p := reflect.PointerTo(t)
	if m, ok := p.MethodByName("Clone"); ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 {
		switch m.Type.Out(0) {
		case t:
			return byPointer
		case p:
			return toPointer
		}
	}
	return byNone
}

func (m cloning) copier(t reflect.Type) copier {
	empty := nilable(t)
	return func(v reflect.Value, _ int) {
		if empty && v.IsNil() {
			return
		}
		receiver := v
		if m != byValue {
			receiver = v.Addr()
		}
		out := receiver.MethodByName("Clone").Call(nil)[0]
		if m == toPointer {
			if out.IsNil() {
				return
			}
			out = out.Elem()
		}
		v.Set(out)
	}
}
