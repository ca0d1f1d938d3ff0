package memory

import "time"

// ValidAt reports whether a fact is so at a time: from its ValidFrom on, and before its ValidTo
// if it has one. A fact whose ValidTo is its ValidFrom was so at no time.
func (f *Fact) ValidAt(at time.Time) bool {
	return !at.Before(f.ValidFrom) && (f.ValidTo.IsZero() || at.Before(f.ValidTo))
}

// never reports whether the fact was so at no time: it ends when it begins, or before.
func (f *Fact) never() bool { return !f.ValidTo.IsZero() && !f.ValidTo.After(f.ValidFrom) }

// repeats reports whether f says the same as a fact that is known, for a time that overlaps the
// known fact's. What is untrusted stands apart: it must keep nobody from saying
// so. A fact that was superseded is not repeated once it has ended, as another is so instead.
func (f *Fact) Repeats(known *Fact, now time.Time) bool {
	switch {
	case f.Kind != known.Kind || (f.Trust == Untrusted) != (known.Trust == Untrusted),
		f.never() || known.never(),
		known.SupersededBy != "" && !known.ValidAt(now):
		return false
	}
	ends := func(end, begin time.Time) bool { return !end.IsZero() && !end.After(begin) }
	return !ends(known.ValidTo, f.ValidFrom) && !ends(f.ValidTo, known.ValidFrom) && SameText(f.Content, known.Content)
}

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

// Join returns the fact with the validity and the expiry that it has when another fact that it
// repeats is stored: it holds for as long as either of the two, and from floor on at the earliest.
// A fact that was superseded ends when it did.
func (f *Fact) Join(again *Fact, floor time.Time) Fact {
	joined := *f
	if again.ValidFrom.Before(f.ValidFrom) {
		joined.ValidFrom = again.ValidFrom
		if floor.After(joined.ValidFrom) {
			joined.ValidFrom = floor
		}
	}
	if f.SupersededBy == "" {
		joined.ValidTo = later(f.ValidTo, again.ValidTo)
	}
	joined.ExpiresAt = later(f.ExpiresAt, again.ExpiresAt)
	return joined
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
