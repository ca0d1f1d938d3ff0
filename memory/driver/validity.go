package driver

import "time"

// Repeated returns the position of the known fact that the new fact f repeats, or -1 if f repeats none; see
// [Fact.Repeats]. The known facts are facts of the scope of f. If f repeats several, Repeated returns the
// fact that ends last, and floor is the latest end of the others. Pass floor to [Fact.Join], so that the
// joined fact does not begin before the others have ended.
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

// later returns the later of two ends. Zero means never.
func later(a, b time.Time) time.Time {
	if a.IsZero() || b.IsZero() {
		return time.Time{}
	}
	if b.After(a) {
		return b
	}
	return a
}
