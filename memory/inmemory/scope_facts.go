package inmemory

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// scopeFacts has the facts of one scope. Rows are replaced and never changed, because readers share them.
type scopeFacts struct {
	scope  driver.Scope
	rows   map[string]*driver.FactRecord
	keys   map[[16]byte][]string // the ids of the rows that have a key
	events map[string][]driver.Event
	jobs   map[string]bool
	undo   []func() // functions that undo the changes of a call, in order
}

func newScopeFacts(s driver.Scope) *scopeFacts {
	return &scopeFacts{scope: s, rows: map[string]*driver.FactRecord{}, keys: map[[16]byte][]string{}, events: map[string][]driver.Event{}, jobs: map[string]bool{}}
}

// count returns the number of facts that have not ended.
func (f *scopeFacts) count(now time.Time) (n int) {
	for _, r := range f.rows {
		if factLasts(r, now) {
			n++
		}
	}
	return n
}

// factLasts reports whether a fact has not ended.
func factLasts(r *driver.FactRecord, now time.Time) bool {
	return r.ValidTo.IsZero() || r.ValidTo.After(now)
}

func (f *scopeFacts) takeBack() {
	for _, undo := range slices.Backward(f.undo) {
		undo()
	}
	f.undo = nil
}

// set stores the row of an ID. A nil row removes it.
func (f *scopeFacts) set(id string, row *driver.FactRecord) {
	was := f.rows[id]
	f.put(id, was, row)
	f.undo = append(f.undo, func() { f.put(id, row, was) })
}

// put replaces a row by another one. Either may be nil.
func (f *scopeFacts) put(id string, was, row *driver.FactRecord) {
	if was != nil {
		ids := slices.DeleteFunc(slices.Clone(f.keys[was.Key]), func(other string) bool { return other == id })
		setOrDelete(f.keys, was.Key, ids, len(ids) > 0)
	}
	if row != nil {
		f.keys[row.Key] = append(slices.Clip(f.keys[row.Key]), id)
	}
	setOrDelete(f.rows, id, row, row != nil)
}

// repeated returns the row that a new row repeats, or nil, and the floor for [driver.Fact.Join]. It removes
// expired rows with the same key, as Sweep does.
func (f *scopeFacts) repeated(row *driver.FactRecord, now time.Time) (old *driver.FactRecord, floor time.Time) {
	var rows []*driver.FactRecord
	var facts []*driver.Fact
	for _, id := range slices.Clone(f.keys[row.Key]) {
		if id == row.ID {
			continue
		}
		f.expired(id, now)
		if r := f.rows[id]; r != nil {
			rows, facts = append(rows, r), append(facts, &r.Fact)
		}
	}
	if i, floor := driver.Repeated(&row.Fact, facts, now); i >= 0 {
		return rows[i], floor
	}
	return nil, time.Time{}
}

func (f *scopeFacts) note(e driver.Event) {
	e.Scope = f.scope
	was := f.events[e.ID]
	f.undo = append(f.undo, func() { setOrDelete(f.events, e.ID, was, was != nil) })
	f.events[e.ID] = append(slices.Clip(was), e)
}

// eraseEvents removes the history of a fact.
func (f *scopeFacts) eraseEvents(id string) {
	was := f.events[id]
	f.undo = append(f.undo, func() { setOrDelete(f.events, id, was, was != nil) })
	delete(f.events, id)
}

func setOrDelete[K comparable, V any](m map[K]V, key K, value V, set bool) {
	if set {
		m[key] = value
	} else {
		delete(m, key)
	}
}

// apply applies a change.
func (f *scopeFacts) apply(s driver.Scope, c driver.FactChange, now time.Time) (driver.Applied, error) {
	if c.Kind == driver.Add {
		return f.add(s, c, now)
	}
	row, ok := f.rows[c.Record.ID]
	if !ok {
		return driver.Applied{}, fmt.Errorf("fact %s: %w", c.Record.ID, driver.ErrNotFound)
	}
	if v := c.Record.Version; v != 0 && v != row.Version {
		return driver.Applied{}, fmt.Errorf("fact %s has version %d and not %d: %w", row.ID, row.Version, v, driver.ErrConflict)
	}
	next := *row
	event := driver.Event{ID: row.ID, Kind: c.Kind, Before: row.Content, By: c.Actor, At: now}
	switch c.Kind {
	case driver.Update:
		if err := f.update(&next, c.Record, now); err != nil {
			return driver.Applied{}, err
		}
		event.After = next.Content
	case driver.Close:
		closeFact(&next, cmpTime(c.Record.ValidTo, now), "")
	case driver.Embed:
		next.Terms, next.Embedding, next.Model = slices.Clone(c.Record.Terms), slices.Clone(c.Record.Embedding), c.Record.Model
		f.set(row.ID, &next)
		return driver.Applied{ID: row.ID, Existed: true}, nil
	case driver.Delete:
		f.set(row.ID, nil)
		f.note(event)
		return driver.Applied{ID: row.ID, Existed: true}, nil
	case driver.Erase:
		f.set(row.ID, nil)
		f.eraseEvents(row.ID)
		return driver.Applied{ID: row.ID, Existed: true}, nil
	default:
		return driver.Applied{}, fmt.Errorf("change %q: %w", c.Kind, driver.ErrInvalid)
	}
	next.UpdatedAt, next.Version = now, row.Version+1
	f.set(row.ID, &next)
	f.note(event)
	return driver.Applied{ID: row.ID, Existed: true}, nil
}

func (f *scopeFacts) add(s driver.Scope, c driver.FactChange, now time.Time) (driver.Applied, error) {
	row := copyFact(&c.Record)
	row.Scope, row.CreatedAt, row.UpdatedAt, row.Version = s, now, now, 1
	row.ValidFrom, row.ValidTo, row.ExpiresAt = cmpTime(row.ValidFrom, now), input.Exact(row.ValidTo), input.Exact(row.ExpiresAt)
	if row.ID == "" {
		row.ID = uuid.New()
	}
	f.expired(row.ID, now)
	if old, ok := f.rows[row.ID]; ok {
		if !saysSame(old, &row) {
			return driver.Applied{}, fmt.Errorf("fact %s says something else: %w", row.ID, driver.ErrConflict)
		}
		if row.Repeats(&old.Fact, now) {
			f.extend(old, &row, time.Time{}, c.Actor, now)
		}
		return driver.Applied{ID: row.ID, Existed: true}, nil
	}
	id := row.ID
	same, floor := f.repeated(&row, now)
	if same != nil {
		id = same.ID
	}
	for _, old := range c.Supersedes {
		if same != nil && old == same.ID { // it has the same text, so it is kept
			continue
		}
		if err := f.supersede(old, row.ValidFrom, id, now); err != nil {
			return driver.Applied{}, err
		}
	}
	if same != nil {
		f.extend(same, &row, floor, c.Actor, now)
		return driver.Applied{ID: id, Existed: true}, nil
	}
	f.set(id, &row)
	f.note(driver.Event{ID: id, Kind: driver.Add, After: row.Content, By: c.Actor, At: now})
	return driver.Applied{ID: id}, nil
}

// saysSame reports whether two facts have the same text. It ignores their validity.
func saysSame(r *driver.FactRecord, other *driver.FactRecord) bool {
	return r.Kind == other.Kind && (r.Trust == driver.Untrusted) == (other.Trust == driver.Untrusted) && input.SameText(r.Content, other.Content)
}

// supersede ends the validity of a fact when another fact replaces it.
func (f *scopeFacts) supersede(id string, at time.Time, by string, now time.Time) error {
	was, ok := f.rows[id]
	if !ok {
		return fmt.Errorf("superseded fact %s: %w", id, driver.ErrNotFound)
	}
	if !was.ValidTo.IsZero() && !was.ValidTo.After(at) {
		return fmt.Errorf("superseded fact %s is valid until %v, and the other one from %v on: %w", id, was.ValidTo, at, driver.ErrConflict)
	}
	next := *was
	closeFact(&next, at, by)
	next.UpdatedAt, next.Version = now, was.Version+1
	f.set(id, &next)
	f.note(driver.Event{ID: id, Kind: driver.Close, Before: was.Content, By: by, At: now})
	return nil
}

// extend extends the validity of a fact to cover the validity of a fact that repeats it, but not before floor.
func (f *scopeFacts) extend(was, again *driver.FactRecord, floor time.Time, actor string, now time.Time) {
	next := *was
	next.Fact = was.Join(&again.Fact, floor)
	if next.ValidFrom.Equal(was.ValidFrom) && next.ValidTo.Equal(was.ValidTo) && next.ExpiresAt.Equal(was.ExpiresAt) {
		return
	}
	next.UpdatedAt, next.Version = now, was.Version+1
	f.set(was.ID, &next)
	f.note(driver.Event{ID: was.ID, Kind: driver.Update, Before: was.Content, After: was.Content, By: actor, At: now})
}

func (f *scopeFacts) update(next *driver.FactRecord, to driver.FactRecord, now time.Time) error {
	to = copyFact(&to)
	next.Content, next.Key, next.Terms, next.Embedding, next.Model = to.Content, to.Key, to.Terms, to.Embedding, to.Model
	next.Metadata, next.Importance, next.Trust, next.ExpiresAt = to.Metadata, to.Importance, to.Trust, input.Exact(to.ExpiresAt)
	if same, _ := f.repeated(next, now); same != nil && factLasts(same, now) && factLasts(next, now) {
		return fmt.Errorf("fact %s says the same already: %w", same.ID, driver.ErrConflict)
	}
	return nil
}

// closeFact ends the validity of a row, but not before its ValidFrom. A row that ends earlier keeps its
// end.
func closeFact(r *driver.FactRecord, at time.Time, by string) {
	if at.Before(r.ValidFrom) {
		at = r.ValidFrom
	}
	if r.ValidTo.IsZero() || at.Before(r.ValidTo) {
		r.ValidTo = at
	}
	if by != "" {
		r.SupersededBy = by
	}
}

func factExpired(r *driver.FactRecord, now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

// expired removes a row if it has expired, as Sweep does.
func (f *scopeFacts) expired(id string, now time.Time) {
	if row, ok := f.rows[id]; ok && factExpired(row, now) {
		f.expire(row, now)
	}
}

// expire removes an expired row.
func (f *scopeFacts) expire(row *driver.FactRecord, now time.Time) {
	f.set(row.ID, nil)
	f.note(driver.Event{ID: row.ID, Kind: driver.Delete, Before: row.Content, By: "expired", At: now})
}
