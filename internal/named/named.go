// Package named marks the types of values that a library emits to the stream of a run. Package server
// streams them under their names, and the values of programs as custom values.
package named

import "reflect"

// An Event is the mark of a type. A type has it by a method:
//
//	func (Turn) EventName() named.Event { return named.Of[Turn]("agent_turn") }
type Event struct {
	name string
	of   reflect.Type
}

// Of returns the mark of the type T with a name.
func Of[T any](name string) Event { return Event{name, reflect.TypeFor[T]()} }

// NameOf returns the name of a value whose type has a mark. A program cannot have a value with a mark:
// it cannot import this package, and a struct that embeds a marked type has the mark of another type.
func NameOf(value any) (name string, ok bool) {
	v, ok := value.(marked)
	if !ok {
		return "", false
	}
	t := reflect.TypeOf(value)
	if t.Kind() == reflect.Pointer || embedsMark(t) { // the pointer, or an embedded one, may be nil
		return "", false
	}
	e := v.EventName()
	return e.name, e.of == t
}

type marked interface{ EventName() Event }

// embedsMark reports whether a type is a struct that embeds a type with a mark.
func embedsMark(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Implements(reflect.TypeFor[marked]()) {
			return true
		}
	}
	return false
}
