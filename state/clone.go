package state

import (
	"reflect"
	"sync"
)

// cloner returns a function that copies a T so far that nothing in the copy can
// change the original, or nil when plain assignment does so.
func cloner[T any]() func(T) T {
	t := reflect.TypeFor[T]()
	switch clone := any((*T)(nil)).(type) {
	case interface{ Clone() T }:
		_ = clone // *T has Clone; T may too
	}
	var zero T
	if _, ok := any(zero).(interface{ Clone() T }); ok {
		return func(v T) T {
			if rv := reflect.ValueOf(&v).Elem(); rv.Kind() == reflect.Pointer && rv.IsNil() {
				return v
			}
			return any(v).(interface{ Clone() T }).Clone()
		}
	}
	if !refers(t, map[reflect.Type]bool{}) {
		return nil
	}
	return func(v T) T {
		out := reflect.New(t).Elem()
		out.Set(reflect.ValueOf(&v).Elem())
		cloneInto(out)
		return out.Interface().(T)
	}
}

// refers reports whether values of t hold references that a copy must follow.
func refers(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	if opaque(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Interface:
		return true
	case reflect.Array:
		return refers(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() && refers(f.Type, seen) || hasClone(t) {
				return true
			}
		}
	}
	return false
}

// opaque types keep their references to themselves and are safe to share.
func opaque(t reflect.Type) bool { return t.PkgPath() == "time" }

// clones caches which types have a method Clone() of their own type.
var clones sync.Map // reflect.Type → bool

func hasClone(t reflect.Type) bool {
	if known, ok := clones.Load(t); ok {
		return known.(bool)
	}
	m, ok := t.MethodByName("Clone")
	ok = ok && m.Type.NumIn() == 1 && m.Type.NumOut() == 1 && m.Type.Out(0) == t
	clones.Store(t, ok)
	return ok
}

// cloneInto replaces every reference in v, which is settable, by a copy.
func cloneInto(v reflect.Value) {
	t := v.Type()
	if opaque(t) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		if v.IsNil() {
			return
		}
	}
	if v.Kind() != reflect.Interface && hasClone(t) {
		v.Set(v.MethodByName("Clone").Call(nil)[0])
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		p.Elem().Set(v.Elem())
		cloneInto(p.Elem())
		v.Set(p)
	case reflect.Interface:
		inner := reflect.New(v.Elem().Type()).Elem()
		inner.Set(v.Elem())
		cloneInto(inner)
		v.Set(inner)
	case reflect.Slice:
		s := reflect.MakeSlice(t, v.Len(), v.Len())
		reflect.Copy(s, v)
		cloneElements(s)
		v.Set(s)
	case reflect.Array:
		cloneElements(v)
	case reflect.Map:
		cloneMap(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				cloneInto(f)
			}
		}
	}
}

func cloneElements(s reflect.Value) {
	if !refers(s.Type().Elem(), map[reflect.Type]bool{}) {
		return
	}
	for i := range s.Len() {
		cloneInto(s.Index(i))
	}
}

func cloneMap(v reflect.Value) {
	m := reflect.MakeMapWithSize(v.Type(), v.Len())
	for it := v.MapRange(); it.Next(); {
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(it.Value())
		cloneInto(e)
		m.SetMapIndex(it.Key(), e)
	}
	v.Set(m)
}
