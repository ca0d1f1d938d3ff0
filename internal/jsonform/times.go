package jsonform

import (
	"reflect"
	"sync"
	"time"
)

// storedTime returns t as storage gives it back in any process: with the same
// instant and offset, without a monotonic clock reading, and in UTC or in a fixed
// zone. JSON does not hold the name of a location.
func storedTime(t time.Time) time.Time {
	_, offset := t.Zone()
	if offset == 0 {
		return t.UTC().Round(0)
	}
	return t.In(fixedZone(offset)).Round(0)
}

var fixedZones sync.Map // offset in seconds → *time.Location

func fixedZone(offset int) *time.Location {
	if known, ok := fixedZones.Load(offset); ok {
		return known.(*time.Location)
	}
	zone := time.FixedZone("", offset)
	if offset%60 == 0 { // storage does not accept other offsets
		fixedZones.Store(offset, zone)
	}
	return zone
}

// timesCopierOf returns a copier that replaces the stored times in a value by
// storedTime, or nil if values of the type hold none. It copies only what refers
// to a time. It does not look into types with a stored form of their own.
func timesCopierOf(t reflect.Type) copier {
	if known, ok := timesCopiers.Load(t); ok {
		return known.(copier)
	}
	var c copier
	if holdsTimes(t, map[reflect.Type]bool{}) {
		c = timesBuilder{}.of(t)
	}
	timesCopiers.Store(t, c)
	return c
}

var timesCopiers sync.Map // reflect.Type → copier

// timesBuilder holds the copiers of one type and its parts. A type that refers to
// itself needs its copier while the copier is built.
type timesBuilder map[reflect.Type]*copier

// holdsTimes reports whether the stored part of a type holds a time.Time.
func holdsTimes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == timeType {
		return true
	}
	if seen[t] || hooksOf(t).writes {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsTimes(t.Elem(), seen)
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			if !f.skipped && !f.lost && holdsTimes(t.Field(f.index).Type, seen) {
				return true
			}
		}
	}
	return false
}

func (b timesBuilder) of(t reflect.Type) copier {
	if t == timeType {
		return func(v reflect.Value, _ int) {
			at := v.Addr().Interface().(*time.Time)
			*at = storedTime(*at)
		}
	}
	if !holdsTimes(t, map[reflect.Type]bool{}) {
		return nil
	}
	if begun, ok := b[t]; ok { // the type refers to itself
		return func(v reflect.Value, depth int) { (*begun)(v, depth) }
	}
	begun := new(copier)
	b[t] = begun
	*begun = b.build(t)
	return *begun
}

func (b timesBuilder) build(t reflect.Type) copier {
	switch t.Kind() {
	case reflect.Pointer:
		return pointerCopier(t, b.of(t.Elem()))
	case reflect.Slice:
		return sliceCopier(t, b.of(t.Elem()))
	case reflect.Map:
		return mapCopier(t, b.of(t.Elem()))
	case reflect.Array:
		return arrayCopier(b.of(t.Elem()))
	}
	return b.structCopier(t)
}

func (b timesBuilder) structCopier(t reflect.Type) copier {
	var parts []fieldCopier
	for _, f := range fieldsOf(t) {
		if f.skipped || f.lost {
			continue
		}
		typ := t.Field(f.index).Type
		var c copier
		if t.Field(f.index).IsExported() {
			c = b.of(typ)
		} else if holdsTimes(typ, map[reflect.Type]bool{}) {
			c = b.structCopier(typ) // an embedded struct, whose exported fields can be set
		}
		if c != nil {
			parts = append(parts, fieldCopier{f.index, c})
		}
	}
	return copyFields(parts)
}
