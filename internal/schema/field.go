package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A field is a struct field that package encoding/json reads.
type field struct {
	reflect.StructField
	name    string   // in JSON
	tagged  bool     // the name is from a tag
	options []string // of the JSON tag
	depth   int      // how many structs are around it; 1 for a field of the type itself
	path    string
	rival   *field // another field with the same name and precedence, or nil
}

func (f *field) optional() bool {
	return f.Type.Kind() == reflect.Pointer || slices.Contains(f.options, "omitempty") || slices.Contains(f.options, "omitzero")
}

// fields returns the fields of a struct that package encoding/json reads, in the order of
// their declaration. Of several fields with one name, the least deep counts. At the same
// depth, the only field with a tag counts. If none counts, the type has a mistake.
func (b *builder) fields(t reflect.Type, path string) []*field {
	all := b.collect(nil, []reflect.Type{t}, path)
	counts := map[string]*field{}
	for _, f := range all {
		switch other := counts[f.name]; {
		case other == nil, f.depth < other.depth, f.depth == other.depth && f.tagged && !other.tagged:
			counts[f.name] = f
		case f.depth == other.depth && f.tagged == other.tagged:
			other.rival = f
		}
	}
	var fields []*field
	for _, f := range all {
		if counts[f.name] != f {
			continue
		}
		fields = append(fields, f)
		if f.rival != nil {
			b.mistake(f.rival.path, fmt.Sprintf("its JSON name, %q, is also the name of the field %s; rename one of them", f.name, f.path))
		}
	}
	return fields
}

// collect appends the fields of a struct and of the structs that it embeds. The struct is
// the last type of within, and each type is embedded in the type before it.
func (b *builder) collect(all []*field, within []reflect.Type, path string) []*field {
	t := within[len(within)-1]
	for i := range t.NumField() {
		f := newField(t.Field(i), len(within), path)
		target := f.embedded()
		switch {
		case f.Tag.Get("json") == "-", f.Name == "_":
		case !f.IsExported() && target == nil:
			b.mistake(f.path, `is not exported and would be lost; export it, or tag it json:"-"`)
		case !f.IsExported() && (f.tagged || f.Type.Kind() == reflect.Pointer):
			b.mistake(f.path, "an embedded struct that is not exported can neither be a pointer nor have a JSON name; give the field a name")
		case slices.Contains(f.options, "string"):
			b.mistake(f.path, `the JSON option "string" is unsupported`)
		case target == nil || f.tagged:
			all = append(all, f)
		case slices.Contains(within, target):
			b.mistake(f.path, "a struct cannot be embedded in itself")
		default:
			all = b.collect(all, append(slices.Clip(within), target), f.path)
		}
	}
	return all
}

func newField(f reflect.StructField, depth int, path string) *field {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return &field{
		StructField: f, name: cmp.Or(name, f.Name), tagged: name != "",
		options: strings.Split(options, ","), depth: depth, path: path + "." + f.Name,
	}
}

// embedded returns the struct type of an embedded field, or nil.
func (f *field) embedded() reflect.Type {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !f.Anonymous || t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
