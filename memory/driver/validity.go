package driver

import "time"

// Repeated returns the position of the fact of the same scope that a new fact repeats, or -1 if it repeats
// none. A repeated fact has the same text, the same kind, and a validity that overlaps. If there are
// several, Repeated returns the fact that ends last. After [Fact.Join], this fact must not begin before
// floor, the end of the other facts.
func Repeated(f *Fact, known []*Fact, now time.Time) (position int, floor time.Time) {
	position = -1
	for i, k := range known {
		if !f.Repeats(k, now) {
			continue
		}
		before := k.ValidTo
		if position < 0 {
			position = i
			continue
		}
		if last := known[position].ValidTo; !last.IsZero() && (before.IsZero() || before.After(last)) {
			position, before = i, last
		}
		if before.After(floor) {
			floor = before
		}
	}
	return position, floor
}

// later returns the later one of two ends. Zero means never.
func later(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if b.After(a) {
		return b
	}
	return a
}
