package jsonform

import (
	"reflect"
	"strings"
	"sync"
	"unicode"
)

// field describes how encoding/json treats a struct field.
type field struct {
	index     int
	name      string // the name in Go
	key       string // its name in JSON; empty for a struct whose fields are promoted
	skipped   bool   // not written on purpose: tagged json:"-", or a blank field
	lost      bool   // not stored, although no tag excludes it
	omitEmpty bool
	omitZero  bool
	quoted    bool // a string with the tag option "string", which quotes it twice
	asString  bool // the tag option "string" converts the value to a JSON string
}

var fieldsByType sync.Map // reflect.Type → []field

// fieldsOf returns the descriptions of all fields of a struct type.
func fieldsOf(t reflect.Type) []field {
	if known, ok := fieldsByType.Load(t); ok {
		return known.([]field)
	}
	out := make([]field, t.NumField())
	for i := range out {
		out[i] = fieldOf(t.Field(i), i)
	}
	fieldsByType.Store(t, out)
	return out
}

func fieldOf(f reflect.StructField, i int) field {
	out := field{index: i, name: f.Name}
	tag := f.Tag.Get("json")
	if tag == "-" || f.Name == "_" {
		out.skipped = true
		return out
	}
	inner := f.Type
	if inner.Kind() == reflect.Pointer && inner.Name() == "" {
		inner = inner.Elem()
	}
	structure := inner.Kind() == reflect.Struct
	// encoding/json writes an embedded pointer to an unexported type, but cannot read
	// it back.
	out.lost = !f.IsExported() && (!f.Anonymous || !structure || f.Type.Kind() == reflect.Pointer)
	key := out.readTag(tag, inner)
	switch {
	case key != "":
		out.key = key
	case !f.Anonymous || !structure:
		out.key = f.Name
	}
	return out
}

// readTag reads the options of a tag. It returns the name in the tag, or "" if
// encoding/json ignores the name.
func (f *field) readTag(tag string, t reflect.Type) string {
	key, options, _ := strings.Cut(tag, ",")
	for option := range strings.SplitSeq(options, ",") {
		f.omitEmpty = f.omitEmpty || option == "omitempty"
		f.omitZero = f.omitZero || option == "omitzero"
		if option == "string" {
			f.quoted = t.Kind() == reflect.String
			f.asString = f.quoted || scalar(t.Kind())
		}
	}
	if !validKey(key) {
		return ""
	}
	return key
}

// scalar reports whether k is the kind of a number or a boolean.
func scalar(k reflect.Kind) bool {
	return k == reflect.Bool || k >= reflect.Int && k <= reflect.Float64
}

// validKey reports whether encoding/json accepts key as the name in a tag.
func validKey(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
	})
}

// omits reports whether encoding/json omits the field if it has this value.
func (f *field) omits(v reflect.Value) bool {
	if f.omitZero && v.IsZero() {
		return true
	}
	if !f.omitEmpty {
		return false
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
