package driver

import "time"

// Repeated returns the position of the fact, among facts of one scope, that a fact to store
// repeats, and -1 if it repeats none: one that says the same, of the same kind, for a time
// that overlaps its own. Of several, it is the one that ends last. It then has to hold
// for as long as [Fact.Join] says, but not before floor, the end of the others.
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

// later returns the later of two ends, of which zero is never.
func later(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if b.After(a) {
		return b
	}
	return a
}
