package tools

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// shapes finds, before a schema is inferred, the types whose JSON is not what
// their Go kind says, and those that could not be read back.
type shapes struct {
	types    map[reflect.Type]*jsonschema.Schema
	seen     map[reflect.Type]bool
	around   map[reflect.Type]bool   // the types that are being visited
	loops    map[reflect.Type]string // types that hold themselves, by their name as a definition
	depth    int                     // how many structs are being visited
	mistakes []error
}

func newShapes() *shapes {
	return &shapes{
		types: map[reflect.Type]*jsonschema.Schema{}, seen: map[reflect.Type]bool{},
		around: map[reflect.Type]bool{}, loops: map[reflect.Type]string{},
	}
}

// known are types of the standard library whose JSON their methods do not tell.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "a duration in nanoseconds"},
	reflect.TypeFor[big.Int]():         {Description: "an integer of any size"},
	reflect.TypeFor[[]byte]():          {Type: "string", Description: "bytes in base64"},
	reflect.TypeFor[json.RawMessage](): {Description: "any JSON value"},
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (s *shapes) mistake(path, why string) {
	s.mistakes = append(s.mistakes, fmt.Errorf("%s: %s", path, why))
}

func (s *shapes) visit(t reflect.Type, path string) {
	if isBound(t) {
		s.mistake(path, "a Bound stands in the struct of the arguments, and not in a list, a map or another struct, nor behind a pointer")
		return
	}
	if s.around[t] && t.Name() != "" && s.loops[t] == "" {
		s.loops[t] = fmt.Sprintf("%s_%d", strings.Map(letters, t.Name()), len(s.loops)+1)
	}
	if s.seen[t] {
		return
	}
	s.seen[t], s.around[t] = true, true
	defer delete(s.around, t)
	if shape := shapeOf(t); shape != nil {
		s.types[t] = shape
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		s.visit(t.Elem(), path)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			s.mistake(path, "an interface can not be read from JSON")
		}
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		s.mistake(path, fmt.Sprintf("a value of type %s is unsupported: it can not be read from JSON", t))
	case reflect.Struct:
		for field := range t.Fields() {
			s.visitField(field, path+"."+field.Name)
		}
		s.visitNames(t, path)
	}
}

// visitNames finds fields of one name, which no two readers of JSON choose
// between alike.
func (s *shapes) visitNames(t reflect.Type, path string) {
	owners := map[string]string{}
	for _, field := range reflect.VisibleFields(t) {
		name, ok := jsonName(field)
		if !ok || field.Anonymous || !field.IsExported() {
			continue
		}
		if other := owners[name]; other != "" {
			s.mistake(path+"."+field.Name, fmt.Sprintf("its json name, %q, is that of the field %s, too", name, other))
		}
		owners[name] = field.Name
	}
}

// letters keeps what may stand in the name of a definition.
func letters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}

// shapeOf returns the schema of a type that reads its own JSON, or nil.
func shapeOf(t reflect.Type) *jsonschema.Schema {
	if shape := known[t]; shape != nil {
		return shape
	}
	if t.Kind() == reflect.Pointer {
		return nil // what it points to is looked at
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(jsonUnmarshaler):
		return &jsonschema.Schema{Description: "any JSON value"}
	case p.Implements(textUnmarshaler):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

func (s *shapes) visitField(field reflect.StructField, path string) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	_, read := jsonName(field)
	switch {
	case !read && embeds(field) && shows(field.Type):
		s.mistake(path, "an embedded struct can not be left out of the JSON; give the field a name of its own")
		return
	case !read, !field.IsExported() && !field.Anonymous:
		return
	case field.Anonymous && (name != "" || !embeds(field)):
		s.mistake(path, "only a struct can be embedded, and without a json name; give the field a name of its own")
		return
	}
	for option := range strings.SplitSeq(options, ",") {
		if option == "string" {
			s.mistake(path, `the json option "string" is not supported`)
		}
	}
	if !field.Anonymous {
		s.depth++
		defer func() { s.depth-- }()
	}
	if isBound(field.Type) && s.depth == 1 {
		s.types[field.Type] = shapeOf(field.Type)
		return
	}
	s.visit(field.Type, path)
}

// isBound reports whether a type is a [Bound].
func isBound(t reflect.Type) bool { return reflect.PointerTo(t).Implements(binderType) }

// shows reports whether an embedded struct has fields that would be those of the
// struct around it.
func shows(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() && !f.Anonymous })
}

// embeds reports whether the fields of an embedded field become those of the
// struct around it.
func embeds(field reflect.StructField) bool {
	if field.Type.Kind() == reflect.Pointer {
		return field.IsExported() && field.Type.Elem().Kind() == reflect.Struct
	}
	return field.Type.Kind() == reflect.Struct
}
