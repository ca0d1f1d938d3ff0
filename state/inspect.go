package state

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
)

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// marshals reports whether a type has its own stored form.
func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}

// inspect finds out whether values of a type can come back from JSON. Open says
// that it holds `any`, so that the answer depends on the value.
func inspect(t reflect.Type) (open bool, err error) {
	in := inspection{seen: map[reflect.Type]bool{}}
	in.visit(t, t.String())
	return in.open, in.err
}

type inspection struct {
	seen map[reflect.Type]bool
	open bool
	err  error
}

func (in *inspection) fail(path, why string) {
	if in.err == nil {
		in.err = fmt.Errorf("%w: %s %s", ErrRoundTrip, path, why)
	}
}

func (in *inspection) visit(t reflect.Type, path string) {
	if in.seen[t] || in.err != nil {
		return
	}
	in.seen[t] = true
	if own, ok := hooked(t); own {
		if !ok {
			in.fail(path, "has a method to write itself and none to read itself back")
		}
		return
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		in.fail(path, "cannot be written as JSON; keep such a value in an Untracked channel")
	case reflect.Interface:
		if t.NumMethod() > 0 {
			in.fail(path, "is an interface, whose value JSON cannot read back; use a concrete type")
		}
		in.open = true
	case reflect.Slice, reflect.Array:
		in.visit(t.Elem(), path+"[]")
	case reflect.Pointer:
		in.visit(t.Elem(), path)
	case reflect.Map:
		in.visitKey(t.Key(), path)
		in.visit(t.Elem(), path+"[]")
	case reflect.Struct:
		in.visitStruct(t, path)
	}
}

// hooked reports whether the type writes itself, and if so, reads itself too.
func hooked(t reflect.Type) (own, ok bool) {
	p := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Pointer:
		return false, false
	case p.Implements(jsonMarshaler):
		return true, p.Implements(jsonUnmarshaler)
	case p.Implements(textMarshaler):
		return true, p.Implements(textUnmarshaler)
	}
	return false, false
}

func (in *inspection) visitKey(t reflect.Type, path string) {
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return
	}
	if own, ok := hooked(t); !own || !ok {
		in.fail(path, "has keys of "+t.String()+", which JSON cannot hold")
	}
}

func (in *inspection) visitStruct(t reflect.Type, path string) {
	for f := range t.Fields() {
		at := path + "." + f.Name
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			in.visit(f.Type, at)
		case !f.IsExported():
			in.fail(at, `is not exported and would be lost; export it, tag it json:"-", or give the type MarshalJSON and UnmarshalJSON`)
		default:
			in.visit(f.Type, at)
		}
	}
}

// lossless looks at what a value holds in places of type any: only what JSON
// reads back as the same Go type may stand there.
func lossless(v reflect.Value, path string) error {
	if v.IsValid() && v.Kind() != reflect.Interface && v.Kind() != reflect.Pointer && marshals(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return losslessAny(v.Elem(), path)
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return lossless(v.Elem(), path)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := lossless(v.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := lossless(it.Value(), fmt.Sprintf("%s[%v]", path, it.Key())); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Tag.Get("json") == "-" || (!f.IsExported() && !f.Anonymous) {
				continue
			}
			if err := lossless(v.Field(i), path+"."+f.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// losslessAny checks a value that an `any` holds.
func losslessAny(v reflect.Value, path string) error {
	if !v.CanInterface() {
		return nil
	}
	switch x := v.Interface().(type) {
	case bool, string, float64:
		return nil
	case []any:
		if x != nil {
			return lossless(v, path)
		}
	case map[string]any:
		if x != nil {
			return lossless(v, path)
		}
	}
	return fmt.Errorf("value%s is a %s inside an any, which JSON reads back as another type; use a typed field, or one of bool, string, float64, []any and map[string]any", path, v.Type())
}
