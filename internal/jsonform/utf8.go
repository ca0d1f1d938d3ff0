package jsonform

import (
	"reflect"
	"unicode/utf8"
)

// badText returns a loss for the first string in a value that is not valid UTF-8, or nil. It
// ignores blank fields and fields tagged json:"-". The set path holds the pointers above v, since a value
// may be cyclic.
func badText(v reflect.Value, path map[address]bool) *roundTripLoss {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return &roundTripLoss{why: "is not valid UTF-8"}
		}
	case reflect.Interface:
		if !v.IsNil() {
			return badText(v.Elem(), path)
		}
	case reflect.Pointer:
		at := address{v.Type(), v.Pointer()}
		if v.IsNil() || path[at] {
			return nil
		}
		path[at] = true
		defer delete(path, at)
		return badText(v.Elem(), path)
	case reflect.Slice, reflect.Array:
		return badTextList(v, path)
	case reflect.Map:
		return badTextMap(v, path)
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if l := badText(v.Field(f.index), path); l != nil && !f.skipped {
				return l.inField(f.name)
			}
		}
	}
	return nil
}

func badTextList(v reflect.Value, path map[address]bool) *roundTripLoss {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil
	}
	for i := range v.Len() {
		if l := badText(v.Index(i), path); l != nil {
			return l.inIndex(i)
		}
	}
	return nil
}

func badTextMap(v reflect.Value, path map[address]bool) *roundTripLoss {
	for it := v.MapRange(); it.Next(); {
		l := badText(it.Key(), path)
		if l == nil {
			l = badText(it.Value(), path)
		}
		if l != nil {
			return l.inKey(it.Key())
		}
	}
	return nil
}
