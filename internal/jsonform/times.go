package jsonform

import (
	"reflect"
	"sync"
	"time"
)

// storedTime returns the time that t becomes when it is stored and read back.
// The instant and the offset stay the same. The location becomes UTC or a fixed
// zone, since JSON does not hold its name. The monotonic clock reading is removed.
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
	if offset%60 == 0 { // values with other offsets cannot be stored
		fixedZones.Store(offset, zone)
	}
	return zone
}

// timesCopierOf returns a copier that applies storedTime to the times in a value.
// It returns nil if values of the type hold no times that are stored.
// The copier copies only slices, maps and pointers that lead to a time.
// It does not change times inside a type with MarshalJSON or MarshalText.
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

// timesBuilder builds the copier of a type. It holds the copiers of the parts of the
// type, since a recursive type needs its copier while the copier is built.
type timesBuilder map[reflect.Type]*copier

// holdsTimes reports whether stored values of a type can contain a time.Time.
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
	if begun, ok := b[t]; ok { // the type is recursive
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
			c = b.structCopier(typ) // the exported fields of an embedded struct can be set
		}
		if c != nil {
			parts = append(parts, fieldCopier{f.index, c})
		}
	}
	return copyFields(parts)
}
