package jsonform

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"
)

var (
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	zeroer          = reflect.TypeFor[interface{ IsZero() bool }]()

	timeType   = reflect.TypeFor[time.Time]()
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()
)

// hooks describes the methods of a type that encode and decode its values:
// MarshalJSON, UnmarshalJSON, MarshalText and UnmarshalText.
type hooks struct {
	writes    bool // the type has MarshalJSON or MarshalText
	byPointer bool // this method has a pointer receiver
	reads     bool // the type has UnmarshalJSON or UnmarshalText
	readsBack bool // the type can decode the output of its MarshalJSON or MarshalText
}

func hooksOf(t reflect.Type) (h hooks) {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return h
	}
	p := reflect.PointerTo(t)
	h.reads = p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler)
	switch {
	case p.Implements(jsonMarshaler):
		h.writes, h.readsBack = true, p.Implements(jsonUnmarshaler)
		h.byPointer = !t.Implements(jsonMarshaler)
	case p.Implements(textMarshaler):
		h.writes, h.readsBack = true, h.reads
		h.byPointer = !t.Implements(textMarshaler)
	}
	return h
}

// findings is the result of the inspection of a type.
type findings struct {
	err    error // the reason why values cannot be stored, or nil
	watch  bool  // some values cannot be stored, so findLoss inspects each value
	raw    bool  // values hold JSON text that the codec did not write
	hooked bool  // a part of the type has hooks, or IsZero for omitzero, so each value is read back
	itself bool  // the type itself has MarshalJSON or MarshalText
}

var findingsByType sync.Map // reflect.Type → findings

// inspect determines whether JSON can restore values of a type unchanged.
func inspect(t reflect.Type) findings {
	if known, ok := findingsByType.Load(t); ok {
		return known.(findings)
	}
	in := inspection{seen: map[sighting]bool{}}
	in.visit(t, t.String(), true)
	in.itself = hooksOf(t).writes
	findingsByType.Store(t, in.findings)
	return in.findings
}

// Storable returns an error if values of a type cannot be stored.
func Storable(t reflect.Type) error { return inspect(t).err }

type inspection struct {
	findings
	seen map[sighting]bool
}

// A sighting is a type that was visited, and whether values of the type were addressable there.
// encoding/json calls pointer methods only for addressable values.
type sighting struct {
	reflect.Type
	addressable bool
}

func (in *inspection) fail(path, why string) {
	if in.err == nil {
		in.err = fmt.Errorf("%w: %s %s", ErrRoundTrip, path, why)
	}
}

func (in *inspection) visit(t reflect.Type, path string, addressable bool) {
	if in.err != nil || in.seen[sighting{t, addressable}] {
		return
	}
	in.seen[sighting{t, addressable}] = true
	if t == timeType || t == numberType || t == rawType {
		in.watch = true
		in.raw = in.raw || t == rawType
		return
	}
	h := hooksOf(t)
	in.visitHooks(h, path, addressable)
	if !h.writes {
		in.visitParts(t, path, addressable)
	}
}

func (in *inspection) visitParts(t reflect.Type, path string, addressable bool) {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		in.fail(path, "cannot be written as JSON; keep such a value in an Untracked channel")
	case reflect.Interface:
		if t.NumMethod() > 0 {
			in.fail(path, "is an interface, whose value JSON cannot read back; use a concrete type")
		}
		in.watch = true
	case reflect.Slice:
		in.visit(t.Elem(), path+"[]", true)
	case reflect.Array:
		in.visit(t.Elem(), path+"[]", addressable)
	case reflect.Pointer:
		in.watch = in.watch || nilable(t.Elem())
		in.visit(t.Elem(), path, true)
	case reflect.Map:
		in.visitKey(t.Key(), path)
		in.visit(t.Elem(), path+"[]", false)
	case reflect.Struct:
		in.visitStruct(t, path, addressable)
	}
}

// nilable reports whether a value of type t can be nil.
// JSON does not distinguish a pointer to a nil value from a nil pointer.
func nilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

func (in *inspection) visitHooks(h hooks, path string, addressable bool) {
	in.hooked = in.hooked || h.writes || h.reads
	switch {
	case h.writes && !h.readsBack:
		in.fail(path, "has MarshalJSON or MarshalText but not the method that reads it back; add UnmarshalJSON or UnmarshalText")
	case h.byPointer && !addressable:
		in.fail(path, "has a MarshalJSON or MarshalText method with a pointer receiver, which encoding/json does not call for a value in a map; use a map of pointers")
	}
}

func (in *inspection) visitKey(t reflect.Type, path string) {
	if h := hooksOf(t); h.writes || h.reads {
		in.hooked = true
		if !h.writes || !h.readsBack {
			in.fail(path, "has keys of "+t.String()+", which lack MarshalText or UnmarshalText")
			return
		}
	} else {
		switch t.Kind() {
		case reflect.String, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
			reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		default:
			in.fail(path, "has keys of "+t.String()+", which JSON cannot hold")
		}
	}
	if part, found := addressed(t, t.String()); found {
		in.fail(path, "has keys that == compares by address, which is not stored: "+part)
	}
}

func (in *inspection) visitStruct(t reflect.Type, path string, addressable bool) {
	copies := copyable(t) || cloneMethod(t).found()
	keys := map[string]string{}
	in.visitFields(t, path, addressable, keys)
	if !copies {
		in.fail(path, "has a lock, or a reference in a field that is not exported, so it cannot be copied; give it a method Clone() "+t.String())
	}
}

// visitFields visits the fields of a struct and of its embedded structs, which share
// one JSON object. The map keys holds the path of each visited field by JSON name.
func (in *inspection) visitFields(t reflect.Type, path string, addressable bool, keys map[string]string) {
	for _, f := range fieldsOf(t) {
		typ, at := t.Field(f.index).Type, path+"."+f.name
		switch {
		case f.skipped:
		case f.lost:
			in.fail(at, `is not exported and would be lost; export it, tag it json:"-", or give the type MarshalJSON and UnmarshalJSON`)
		case f.key == "":
			in.visitEmbedded(typ, at, addressable, keys)
		default:
			if other, taken := keys[f.key]; taken {
				in.fail(at, "and "+other+` have the same name in JSON, "`+f.key+`", so one of them would be lost`)
			}
			keys[f.key] = at
			in.watch = in.watch || f.quoted
			in.hooked = in.hooked || f.omitZero && typ != timeType && (typ.Implements(zeroer) || reflect.PointerTo(typ).Implements(zeroer))
			in.visit(typ, at, addressable)
		}
	}
}

func (in *inspection) visitEmbedded(t reflect.Type, path string, addressable bool, keys map[string]string) {
	if t.Kind() == reflect.Pointer {
		t, addressable = t.Elem(), true
	}
	switch {
	case in.err != nil:
	case recursive(t):
		in.fail(path, "embeds its own type, whose fields would be lost")
	case hooksOf(t).writes || hooksOf(t).reads:
		in.fail(path, "has a stored form of its own, which JSON ignores in an embedded field; give the field a name")
	default:
		in.visitFields(t, path, addressable, keys)
	}
}

// recursive reports whether a struct type embeds itself.
func recursive(t reflect.Type) bool {
	seen := map[reflect.Type]bool{}
	var embeds func(u reflect.Type) bool
	embeds = func(u reflect.Type) bool {
		if u.Kind() == reflect.Pointer {
			u = u.Elem()
		}
		if u.Kind() != reflect.Struct || seen[u] {
			return false
		}
		seen[u] = true
		for f := range u.Fields() {
			if inner := f.Type; f.Anonymous && (inner == t || inner == reflect.PointerTo(t) || embeds(inner)) {
				return true
			}
		}
		return false
	}
	return embeds(t)
}

// Distinct returns an error if a value of type E and its stored copy can differ under ==.
// That happens if == compares addresses, or fields that are not stored.
func Distinct[E comparable]() error {
	t := reflect.TypeFor[E]()
	if part, found := addressed(t, t.String()); found {
		return fmt.Errorf("%w: %s is compared by address, so the stored element would differ from the original", ErrRoundTrip, part)
	}
	if part, found := partial(t, t.String()); found {
		return fmt.Errorf("%w: %s is part of the comparison of elements but is not stored", ErrRoundTrip, part)
	}
	return nil
}

// addressed searches a comparable type for a part that == compares by address.
// It returns the path of the first such part, or false if there is none.
func addressed(t reflect.Type, path string) (string, bool) {
	switch t.PkgPath() {
	case "unique", "net/netip":
		return "", false // equal values have the same address
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		return path, true
	case reflect.Array:
		return addressed(t.Elem(), path+"[]")
	case reflect.Struct:
		for f := range t.Fields() {
			if part, found := addressed(f.Type, path+"."+f.Name); found {
				return part, true
			}
		}
	}
	return "", false
}

// partial searches a comparable type for a field that is not stored.
// It returns the path of the first such field, or false if there is none.
func partial(t reflect.Type, path string) (string, bool) {
	switch t.Kind() {
	case reflect.Array:
		return partial(t.Elem(), path+"[]")
	case reflect.Struct:
		if hooksOf(t).writes {
			return "", false
		}
		for _, f := range fieldsOf(t) {
			at := path + "." + f.name
			if f.skipped && f.name != "_" {
				return at, true
			}
			if part, found := partial(t.Field(f.index).Type, at); found {
				return part, true
			}
		}
	}
	return "", false
}
