package jsonform

import (
	"reflect"
	"unicode/utf8"
)

// badText finds a string that is not valid UTF-8 in what is stored of a value,
// and in all that a type which writes itself has. Way holds the pointers that
// led here.
func badText(v reflect.Value, way map[address]bool) *loss {
	switch v.Kind() {
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return &loss{why: "is not valid UTF-8"}
		}
	case reflect.Interface:
		if !v.IsNil() {
			return badText(v.Elem(), way)
		}
	case reflect.Pointer:
		at := address{v.Type(), v.Pointer()}
		if v.IsNil() || way[at] {
			return nil
		}
		way[at] = true
		defer delete(way, at)
		return badText(v.Elem(), way)
	case reflect.Slice, reflect.Array:
		return badTextList(v, way)
	case reflect.Map:
		return badTextMap(v, way)
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			if l := badText(v.Field(f.index), way); l != nil && !f.skipped {
				return l.inField(f.name)
			}
		}
	}
	return nil
}

func badTextList(v reflect.Value, way map[address]bool) *loss {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return nil
	}
	for i := range v.Len() {
		if l := badText(v.Index(i), way); l != nil {
			return l.inIndex(i)
		}
	}
	return nil
}

func badTextMap(v reflect.Value, way map[address]bool) *loss {
	for it := v.MapRange(); it.Next(); {
		l := badText(it.Key(), way)
		if l == nil {
			l = badText(it.Value(), way)
		}
		if l != nil {
			return l.inKey(it.Key())
		}
	}
	return nil
}
