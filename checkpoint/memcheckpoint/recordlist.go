package memcheckpoint

import (
	"iter"
	"math/bits"
	"slices"
)

// A recordList is a list of records that grows without copying them. A copy of a recordList may be read while the
// list grows.
type recordList struct {
	parts [][]record // each is twice as long as the part before it, up to lastPart
	n     int32
}

// The lengths of the first part and of the longest parts.
const (
	firstPart = 4
	lastPart  = 512
)

// place returns the part of a record, and the index of the record in the part.
func place(i int32) (part, at int32) {
	const growing = lastPart - firstPart // the number of records in shorter parts
	if i >= growing {
		return int32(bits.Len(lastPart/firstPart)) - 1 + (i-growing)/lastPart, (i - growing) % lastPart
	}
	part = int32(bits.Len32(uint32(i/firstPart+1))) - 1
	return part, i - firstPart*(1<<part-1)
}

// at returns a record, which must not be changed.
func (l *recordList) at(i int32) *record {
	part, at := place(i)
	return &l.parts[part][at]
}

// add appends a record.
func (l *recordList) add(r record) {
	part, at := place(l.n)
	if int(part) == len(l.parts) {
		length := firstPart
		if part > 0 {
			length = min(2*len(l.parts[part-1]), lastPart)
		}
		l.parts = append(l.parts, make([]record, length))
	}
	l.parts[part][at] = r
	l.n++
}

// backward iterates over the records and their indexes, the last one first.
func (l *recordList) backward() iter.Seq2[int32, *record] {
	return func(yield func(int32, *record) bool) {
		for i := l.n - 1; i >= 0; i-- {
			if !yield(i, l.at(i)) {
				return
			}
		}
	}
}

// clone returns a list with the same records, to which records can be added.
func (l *recordList) clone() recordList {
	out := recordList{parts: slices.Clone(l.parts), n: l.n}
	if last := len(out.parts) - 1; last >= 0 {
		out.parts[last] = slices.Clone(out.parts[last])
	}
	return out
}
