// Package memruns keeps the records and event logs of a server in memory. They are lost when the process ends.
package memruns

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-go/weft/server/runs"
)

// A Store keeps records in memory. It is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	records map[runs.Kind]map[string]*entry
	threads map[string]*thread
}

// An entry is a stored record, packed in a string. An update replaces the string.
type entry struct{ packed string }

// A thread has the runs, the log and the tasks of a thread.
type thread struct {
	runs  []*entry
	log   log
	tasks taskList
}

var _ runs.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{records: map[runs.Kind]map[string]*entry{}, threads: map[string]*thread{}}
}

// thread returns a thread. It makes the thread if there is none.
func (s *Store) thread(id string) *thread {
	t := s.threads[id]
	if t == nil {
		t = &thread{}
		s.threads[strings.Clone(id)] = t
	}
	return t
}

// Insert implements [runs.Store].
func (s *Store) Insert(ctx context.Context, records ...runs.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i := range records {
		if err := records[i].Check(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	type key struct {
		kind runs.Kind
		id   string
	}
	seen := map[key]bool{}
	for i := range records {
		r := &records[i]
		if k := (key{r.Kind, r.ID}); s.records[r.Kind][r.ID] != nil || seen[k] {
			return fmt.Errorf("%s %s %w", r.Kind, r.ID, runs.ErrExists)
		} else {
			seen[k] = true
		}
	}
	for i := range records {
		r := records[i]
		r.Revision = 1
		e := &entry{packRecord(&r)}
		s.put(r.Kind, e)
		if r.Kind == runs.Run {
			t := s.thread(r.Parent)
			t.runs = append(t.runs, e)
		}
	}
	return nil
}

// put stores a record under its id.
func (s *Store) put(kind runs.Kind, e *entry) {
	if s.records[kind] == nil {
		s.records[kind] = map[string]*entry{}
	}
	r, _ := e.record(kind)
	s.records[kind][r.ID] = e
}

// record returns the record without Metadata and Data. The rest contains them. The record shares memory with the store.
func (e *entry) record(kind runs.Kind) (r runs.Record, rest unpacker) {
	return unpackRecord(kind, e.packed)
}

// copy returns the whole record. It shares only immutable memory with the store.
func (e *entry) copy(kind runs.Kind) runs.Record {
	r, rest := e.record(kind)
	r.Metadata, r.Data = rest.bytes(), rest.bytes()
	return r
}

// Get implements [runs.Store].
func (s *Store) Get(ctx context.Context, kind runs.Kind, id string) (runs.Record, error) {
	if err := ctx.Err(); err != nil {
		return runs.Record{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.records[kind][id]
	if e == nil {
		return runs.Record{}, notFound(kind, id)
	}
	return e.copy(kind), nil
}

func notFound(kind runs.Kind, id string) error {
	return fmt.Errorf("%s %s %w", kind, id, runs.ErrNotFound)
}

// Update implements [runs.Store].
func (s *Store) Update(ctx context.Context, r runs.Record) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.replaceable(&r); err != nil {
		return 0, err
	}
	s.replace(&r)
	return r.Revision + 1, nil
}

// replaceable returns an error if a record cannot replace the stored one.
func (s *Store) replaceable(r *runs.Record) error {
	e := s.records[r.Kind][r.ID]
	if e == nil {
		return notFound(r.Kind, r.ID)
	}
	if old, _ := e.record(r.Kind); old.Revision != r.Revision {
		return fmt.Errorf("%s %s %w", r.Kind, r.ID, runs.ErrConflict)
	}
	return r.Check()
}

func (s *Store) replace(r *runs.Record) {
	e := s.records[r.Kind][r.ID]
	old, _ := e.record(r.Kind)
	c := *r
	c.Revision++
	if r.Kind == runs.Run && old.Parent != r.Parent {
		s.removeRun(old.Parent, e)
		t := s.thread(r.Parent)
		t.runs = append(t.runs, e)
	}
	e.packed = packRecord(&c)
	s.put(r.Kind, e) // the key of the map shares memory with the new string
}

// removeRun removes a run from the runs of its thread.
func (s *Store) removeRun(id string, e *entry) {
	t := s.threads[id]
	t.runs = slices.DeleteFunc(t.runs, func(o *entry) bool { return o == e })
}

// Delete implements [runs.Store].
func (s *Store) Delete(ctx context.Context, kind runs.Kind, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.records[kind][id]
	if e == nil {
		return notFound(kind, id)
	}
	r, _ := e.record(kind)
	switch kind {
	case runs.Thread:
		if t := s.threads[id]; t != nil {
			for _, e := range t.runs {
				run, _ := e.record(runs.Run)
				delete(s.records[runs.Run], run.ID)
			}
		}
		delete(s.threads, id)
	case runs.Run:
		if err := s.threads[r.Parent].log.remove(id); err != nil {
			return err
		}
		s.removeRun(r.Parent, e)
	case runs.Assistant:
		for _, e := range s.records[runs.Version] {
			if v, _ := e.record(runs.Version); v.Parent == id {
				delete(s.records[runs.Version], v.ID)
			}
		}
	}
	delete(s.records[kind], id)
	return nil
}

// Search implements [runs.Store].
func (s *Store) Search(ctx context.Context, q runs.Query) ([]runs.Record, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := s.selected(&q)
	slices.SortFunc(found, func(a, b match) int {
		c := compare(q.Order, &a.record, &b.record)
		if q.Reverse {
			c = -c
		}
		return c
	})
	total := len(found)
	found = found[min(q.Offset, total):]
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	out := make([]runs.Record, len(found))
	for i := range found {
		out[i] = found[i].copy(q.Kind)
	}
	return out, total, nil
}

// A match is a record that a query selects, without its JSON.
type match struct {
	*entry
	record runs.Record
}

// selected returns the records that a query selects.
func (s *Store) selected(q *runs.Query) (found []match) {
	add := func(e *entry) {
		if e == nil {
			return
		}
		r, rest := e.record(q.Kind)
		if matches(q, &r) && contains(&rest, q.Metadata) && s.visible(q, e, &r) {
			found = append(found, match{e, r})
		}
	}
	all := s.records[q.Kind]
	switch {
	case q.IDs != nil:
		for _, id := range slices.Compact(slices.Sorted(slices.Values(q.IDs))) {
			add(all[id])
		}
	case q.Kind == runs.Run && q.Parent != "":
		if t := s.threads[q.Parent]; t != nil {
			for _, e := range t.runs {
				add(e)
			}
		}
	default:
		for _, e := range all {
			add(e)
		}
	}
	return found
}

// matches reports whether a record meets the conditions of a query, except Kind, IDs, Metadata and Filter, which selected
// checks.
func matches(q *runs.Query, r *runs.Record) bool {
	return (q.Parent == "" || r.Parent == q.Parent) && (q.Owner == nil || r.Owner == *q.Owner) &&
		(q.Graph == "" || r.Graph == q.Graph) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status)) &&
		(q.Name == "" || strings.Contains(strings.ToLower(r.Name), strings.ToLower(q.Name))) &&
		(q.Expired.IsZero() || !r.Expires.IsZero() && !r.Expires.After(q.Expired))
}

// visible reports whether the filter of a query selects the record r of an entry.
func (s *Store) visible(q *runs.Query, e *entry, r *runs.Record) bool {
	if q.Filter.Any() {
		return true
	}
	kind := q.Kind
	if kind == runs.Run {
		kind, e = runs.Thread, s.records[runs.Thread][r.Parent]
	}
	if e == nil {
		return false
	}
	judged, rest := e.record(kind)
	judged.Metadata = rest.bytes()
	return q.Filter.Has(&judged)
}

// contains reports whether the metadata of a record contains other metadata.
func contains(rest *unpacker, metadata json.RawMessage) bool {
	return len(metadata) == 0 || runs.Contains(rest.bytes(), metadata)
}

func compare(o runs.Order, a, b *runs.Record) int {
	c := 0
	switch o {
	case runs.ByUpdated:
		c = a.Updated.Compare(b.Updated)
	case runs.ByName:
		c = strings.Compare(a.Name, b.Name)
	case runs.ByStatus:
		c = strings.Compare(a.Status, b.Status)
	case runs.ByGraph:
		c = strings.Compare(a.Graph, b.Graph)
	case runs.ByExpires:
		c = a.Expires.Compare(b.Expires)
	case runs.ByID:
	default:
		c = a.Created.Compare(b.Created)
	}
	return cmp.Or(c, strings.Compare(a.ID, b.ID))
}
