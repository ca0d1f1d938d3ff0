// Package shape tells models and their answers apart from what a Go type can
// hold: it writes the JSON Schema of a type, and says in words what of a value
// does not fit.
package shape

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
)

// The kinds of a [Shape], which are the types of JSON Schema.
const (
	Any     = ""
	Object  = "object"
	Array   = "array"
	String  = "string"
	Integer = "integer"
	Number  = "number"
	Boolean = "boolean"
)

// A Shape is what the JSON of a Go type looks like. It may contain itself. It is
// not changed once it is made.
type Shape struct {
	Kind   string
	Format string // of a string
	About  string // in words, for the model
	// Fields are those of a struct, in order. A struct takes no other.
	Fields []Field
	// Elem is what the elements of an array or the values of a map are. A map
	// is an object with an Elem.
	Elem *Shape
	// Unsigned says that an integer is not negative.
	Unsigned bool
	// Len is the length of an array that has a fixed one; zero for any.
	Len int

	name string // of a struct type, for a definition
}

// A Field is one of a struct.
type Field struct {
	Name     string
	About    string
	Required bool
	Shape    *Shape
}

// Of returns the shape of a type. It is an error that names every place of the
// type that can not be read from JSON.
func Of(t reflect.Type) (*Shape, error) {
	b := builder{made: map[reflect.Type]*Shape{}}
	s := b.of(t, t.String())
	if err := errors.Join(b.mistakes...); err != nil {
		return nil, err
	}
	return s, nil
}

// Wrap returns an object whose one field has a shape.
func Wrap(name string, s *Shape) *Shape {
	return &Shape{Kind: Object, Fields: []Field{{Name: name, Required: true, Shape: s}}}
}

type builder struct {
	made     map[reflect.Type]*Shape
	mistakes []error
}

func (b *builder) mistake(path, why string) *Shape {
	b.mistakes = append(b.mistakes, fmt.Errorf("%s: %s", path, why))
	return &Shape{}
}

var known = map[reflect.Type]Shape{
	reflect.TypeFor[time.Time]():       {Kind: String, Format: "date-time"},
	reflect.TypeFor[time.Duration]():   {Kind: Integer, About: "a duration in nanoseconds"},
	reflect.TypeFor[big.Int]():         {Kind: Any, About: "an integer of any size"},
	reflect.TypeFor[[]byte]():          {Kind: String, About: "bytes in base64"},
	reflect.TypeFor[json.Number]():     {Kind: Number},
	reflect.TypeFor[json.RawMessage](): {Kind: Any, About: "any JSON value"},
}

func (b *builder) of(t reflect.Type, path string) *Shape {
	if s, ok := known[t]; ok {
		return &s
	}
	if t.Kind() == reflect.Pointer {
		if t.Name() != "" {
			return b.mistake(path, "a pointer type with a name is not supported")
		}
		return b.of(t.Elem(), path)
	}
	if s := b.made[t]; s != nil {
		return s
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return &Shape{Kind: Any, About: "any JSON value"}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &Shape{Kind: String}
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.ofStruct(t, path)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return b.mistake(path, "the keys of a map are strings")
		}
		return b.ofElems(t, Shape{Kind: Object}, path)
	case reflect.Slice:
		return b.ofElems(t, Shape{Kind: Array}, path)
	case reflect.Array:
		return b.ofElems(t, Shape{Kind: Array, Len: t.Len()}, path)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return b.mistake(path, "an interface can not be read from JSON")
		}
		return &Shape{Kind: Any}
	}
	return b.ofBasic(t, path)
}

func (b *builder) ofBasic(t reflect.Type, path string) *Shape {
	switch t.Kind() {
	case reflect.String:
		return &Shape{Kind: String}
	case reflect.Bool:
		return &Shape{Kind: Boolean}
	case reflect.Float32, reflect.Float64:
		return &Shape{Kind: Number}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &Shape{Kind: Integer}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &Shape{Kind: Integer, Unsigned: true}
	}
	return b.mistake(path, "a "+t.Kind().String()+" can not be read from JSON")
}

func (b *builder) ofElems(t reflect.Type, s Shape, path string) *Shape {
	s.name = t.Name()
	b.made[t] = &s
	s.Elem = b.of(t.Elem(), path)
	return &s
}

func (b *builder) ofStruct(t reflect.Type, path string) *Shape {
	s := &Shape{Kind: Object, name: t.Name()}
	b.made[t] = s
	taken := map[string]bool{}
	for level := []embedded{{within: []reflect.Type{t}, path: path}}; len(level) > 0; {
		var fields []field
		var deeper []embedded
		for _, e := range level {
			own, inner := b.fieldsOf(e)
			fields, deeper = append(fields, own...), append(deeper, inner...)
		}
		for i, f := range fields {
			if !taken[f.name] && counts(fields, i) {
				b.addField(s, f)
			}
		}
		for _, f := range fields {
			taken[f.name] = true
		}
		level = deeper
	}
	return s
}

// An embedded is a struct type, the last of some that are each embedded in the
// one before.
type embedded struct {
	within []reflect.Type
	path   string
}

type field struct {
	reflect.StructField
	name    string
	named   bool // by a tag
	options []string
	path    string
}

// fieldsOf returns the fields of a struct, and the structs that are embedded.
func (b *builder) fieldsOf(e embedded) (fields []field, deeper []embedded) {
	for f := range e.within[len(e.within)-1].Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := e.path + "." + f.Name
		inner := structOf(f.Type)
		switch {
		case f.Tag.Get("json") == "-":
		case f.Anonymous && name == "" && inner != nil:
			if slices.Contains(e.within, inner) || f.Type.Kind() == reflect.Pointer && !f.IsExported() {
				b.mistake(path, "can not be embedded")
				continue
			}
			deeper = append(deeper, embedded{append(slices.Clip(e.within), inner), path})
		case f.IsExported():
			fields = append(fields, field{f, cmp.Or(name, f.Name), name != "", strings.Split(options, ","), path})
		}
	}
	return fields, deeper
}

// counts says whether the package json reads a field when others, embedded as
// deep, have its name: if it alone has the name by a tag, and else none of them.
func counts(fields []field, i int) bool {
	for j, other := range fields {
		if j != i && other.name == fields[i].name && (other.named || !fields[i].named) {
			return false
		}
	}
	return true
}

func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}

func (b *builder) addField(s *Shape, f field) {
	if slices.Contains(f.options, "string") {
		b.mistake(f.path, `the json option "string" is not supported`)
	}
	optional := slices.Contains(f.options, "omitempty") || slices.Contains(f.options, "omitzero")
	switch f.Type.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Interface:
		optional = true
	}
	s.Fields = append(s.Fields, Field{
		Name: f.name, About: f.Tag.Get("jsonschema"), Required: !optional, Shape: b.of(f.Type, f.path),
	})
}
