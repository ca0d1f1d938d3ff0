// Package named gives names to the types of values that a library emits to the stream of a run. Package server
// streams such values under the names of their types, and the values of programs as custom values.
package named

import "reflect"

// An Event gives a type a name in the stream. A method of the type returns the Event:
//
//	func (Turn) EventName() named.Event { return named.Of[Turn]("agent_turn") }
type Event struct {
	name string
	of   reflect.Type
}

// Of returns the Event that gives the type T a name.
func Of[T any](name string) Event { return Event{name, reflect.TypeFor[T]()} }

// NameOf returns the name of a value whose type has a method EventName. No type of a program has a name:
// a program cannot import this package, and a struct that embeds a named type returns the Event of that type.
func NameOf(value any) (name string, ok bool) {
	v, ok := value.(namer)
	if !ok {
		return "", false
	}
	t := reflect.TypeOf(value)
	if t.Kind() == reflect.Pointer || embedsNamed(t) { // the pointer, or an embedded one, may be nil
		return "", false
	}
	e := v.EventName()
	return e.name, e.of == t
}

type namer interface{ EventName() Event }

// embedsNamed reports whether a type is a struct that embeds a type with a method EventName.
func embedsNamed(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Implements(reflect.TypeFor[namer]()) {
			return true
		}
	}
	return false
}
