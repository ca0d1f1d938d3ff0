package schema

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// A builder infers the schema of a type. A type that contains itself becomes a
// definition, to which every other place refers.
type builder struct {
	options  Options
	root     reflect.Type
	active   map[reflect.Type]bool         // the types around the current place
	names    map[reflect.Type]string       // the names of the definitions, one for each type that contains itself
	defs     map[string]*jsonschema.Schema // by name; nil while the type is being inferred
	hidden   []string
	mistakes []error
}

func (b *builder) mistake(path, why string) *jsonschema.Schema {
	b.mistakes = append(b.mistakes, fmt.Errorf("%s: %s", path, why))
	return &jsonschema.Schema{}
}

// of returns the schema of a type. The validator requires that the schemas form a tree,
// so each call returns a new schema.
func (b *builder) of(t reflect.Type, path string) *jsonschema.Schema {
	if b.options.Hidden != nil && b.options.Hidden(t) {
		return b.mistake(path, "a Bound must be a field of the struct of the arguments, not of a list, a map, another struct or a pointer")
	}
	if s := custom(t); s != nil {
		return s
	}
	switch {
	case t.Kind() == reflect.Pointer && t.Name() != "":
		return b.mistake(path, "a pointer type with a name is unsupported")
	case t.Kind() == reflect.Pointer:
		return b.of(t.Elem(), path)
	case t.Name() == "":
		return b.ofKind(t, path)
	case b.active[t] && b.names[t] == "":
		b.name(t)
	}
	if name := b.names[t]; name != "" {
		return &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	b.active[t] = true
	s := b.ofKind(t, path)
	delete(b.active, t)
	if name := b.names[t]; name != "" {
		b.defs[name] = s
		return &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	return s
}

// name gives a type a definition name that no other type has.
func (b *builder) name(t reflect.Type) {
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, t.Name())
	name := base
	for n := 2; ; n++ {
		if _, taken := b.defs[name]; !taken && name != "" {
			break
		}
		name = base + strconv.Itoa(n)
	}
	b.names[t], b.defs[name] = name, nil
}

// custom returns the schema of a type that does not have the JSON form of its kind, or nil.
func custom(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "integer", Description: "a duration in nanoseconds"}
	case reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Description: "an integer of any size"}
	case reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	}
	switch p := reflect.PointerTo(t); {
	case t.Kind() == reflect.Pointer:
		return nil
	case p.Implements(reflect.TypeFor[json.Unmarshaler]()):
		return &jsonschema.Schema{Description: "any JSON value"}
	case p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return &jsonschema.Schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && custom(t.Elem()) == nil:
		return &jsonschema.Schema{Type: "string", Description: "bytes in base64"}
	}
	return nil
}

func (b *builder) ofKind(t reflect.Type, path string) *jsonschema.Schema {
	switch t.Kind() {
	case reflect.Struct:
		return b.ofStruct(t, path)
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !reflect.PointerTo(t.Key()).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return b.mistake(path, "unsupported map key: the keys of a map must be strings")
		}
		return &jsonschema.Schema{Type: "object", AdditionalProperties: b.of(t.Elem(), path+"[]")}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: b.of(t.Elem(), path+"[]")}
	case reflect.Array:
		n := t.Len()
		return &jsonschema.Schema{Type: "array", Items: b.of(t.Elem(), path+"[]"), MinItems: &n, MaxItems: &n}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return &jsonschema.Schema{}
		}
		return b.mistake(path, "an interface with methods is unsupported: it cannot be read from JSON")
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}
	}
	if s := integer(t); s != nil {
		return s
	}
	return b.mistake(path, fmt.Sprintf("a value of type %s is unsupported: it cannot be read from JSON", t))
}

// integer returns the schema of an integer type, or nil.
func integer(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "integer"}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
	case reflect.Int8, reflect.Int16, reflect.Int32:
		limit := float64(int64(1) << (t.Bits() - 1))
		s.Minimum, s.Maximum = new(-limit), new(limit-1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		s.Minimum, s.Maximum = new(0.0), new(float64(int64(1)<<t.Bits()-1))
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		s.Minimum = new(0.0)
	default:
		return nil
	}
	return s
}

// object returns the schema of an object without properties.
func object() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

func (b *builder) ofStruct(t reflect.Type, path string) *jsonschema.Schema {
	s := object()
	fields := b.fields(t, path)
	for _, f := range fields {
		if b.options.Hidden != nil && b.options.Hidden(f.Type) && t == b.root {
			b.hidden = append(b.hidden, f.name)
			continue
		}
		property := b.of(f.Type, f.path)
		b.tags(property, f)
		s.Properties[f.name] = property
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		if !f.optional() {
			s.Required = append(s.Required, f.name)
		}
	}
	if b.isUnion(t) {
		b.unite(s, fields, path)
	}
	return s
}

func (b *builder) isUnion(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.Name == "_" && f.Type == b.options.OneOf {
			return true
		}
	}
	return false
}

// unite makes the schema of a struct the schema of a union.
func (b *builder) unite(s *jsonschema.Schema, fields []*field, path string) {
	if len(fields) < 2 {
		b.mistake(path, "a union must have at least two fields")
	}
	for _, f := range fields {
		if f.Type.Kind() != reflect.Pointer {
			b.mistake(f.path, "a field of a union must be a pointer")
		}
	}
	s.Description = "exactly one of the fields " + strings.Join(s.PropertyOrder, ", ")
	s.Required = nil
	s.MinProperties, s.MaxProperties = new(1), new(1)
}

// assignment matches descriptions that look like keywords, such as "minimum=3".
var assignment = regexp.MustCompile(`^[^ \t\n]*=`)

// tags applies the tags of a field to its schema.
func (b *builder) tags(property *jsonschema.Schema, f *field) {
	switch about := f.Tag.Get("jsonschema"); {
	case about == "":
	case assignment.MatchString(about):
		b.mistake(f.path, fmt.Sprintf("the jsonschema tag %q is a description, and must not begin with a word and =", about))
	case property.Description == "":
		property.Description = about
	default:
		property.Description = about + " (" + property.Description + ")"
	}
	if err := enumerate(property, f.Tag.Get("enum")); err != nil {
		b.mistake(f.path, "enum tag: "+err.Error())
	}
	if err := limit(property, f.Tag.Get("minimum"), f.Tag.Get("maximum")); err != nil {
		b.mistake(f.path, err.Error())
	}
}

// limit narrows the range of a number, or of the elements of a list, to the range of the tags minimum and maximum.
func limit(property *jsonschema.Schema, least, greatest string) error {
	if property.Items != nil {
		property = property.Items
	}
	for _, tag := range []struct{ name, text string }{{"minimum", least}, {"maximum", greatest}} {
		if tag.text == "" {
			continue
		}
		value, err := enumValue(tag.text, property.Type)
		n, isNumber := value.(float64)
		switch {
		case err != nil:
			return fmt.Errorf("%s tag: %w", tag.name, err)
		case !isNumber:
			return fmt.Errorf("%s tag: the field is no number", tag.name)
		case tag.name == "minimum" && (property.Minimum == nil || n > *property.Minimum):
			property.Minimum = &n
		case tag.name == "maximum" && (property.Maximum == nil || n < *property.Maximum):
			property.Maximum = &n
		}
	}
	if property.Minimum != nil && property.Maximum != nil && *property.Minimum > *property.Maximum {
		return errors.New("the minimum is greater than the maximum")
	}
	return nil
}

// enumerate limits a property, or the elements of a list, to the values of an enum tag.
func enumerate(property *jsonschema.Schema, tag string) error {
	if tag == "" {
		return nil
	}
	if property.Items != nil {
		property = property.Items
	}
	for text := range strings.SplitSeq(tag, ",") {
		value, err := enumValue(strings.TrimSpace(text), property.Type)
		if err != nil {
			return err
		}
		property.Enum = append(property.Enum, value)
	}
	return nil
}

func enumValue(text, kind string) (any, error) {
	switch kind {
	case "string":
		return text, nil
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && int64(float64(n)) != n {
			err = fmt.Errorf("%s is too large: a schema cannot hold it exactly", text)
		}
		return float64(n), err
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err == nil && (math.IsNaN(n) || math.IsInf(n, 0)) {
			err = fmt.Errorf("%s is no number of JSON", text)
		}
		return n, err
	}
	return nil, fmt.Errorf("%q: the field is neither a string nor a number", text)
}
