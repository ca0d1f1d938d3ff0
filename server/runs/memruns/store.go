// Package memruns keeps the records and event logs of a server in memory. They end with the
// process.
package memruns

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-go/weft/server/runs"
)

// A Store keeps records in memory. It is safe for concurrent use.
type Store struct {
	mu sync.RWMutex
	// A record in the store never changes; a new one replaces it.
	records map[runs.Kind]map[string]*runs.Record
	runsOf  map[string]map[string]*runs.Record // the runs of each thread
	logs    map[string]*log
	tasks   map[string]*taskList
}

var _ runs.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{
		records: map[runs.Kind]map[string]*runs.Record{}, runsOf: map[string]map[string]*runs.Record{},
		logs: map[string]*log{}, tasks: map[string]*taskList{},
	}
}

// clone returns a copy of a record that shares no memory with it.
func clone(r *runs.Record) *runs.Record {
	c := *r
	c.Created, c.Updated, c.Expires = r.Created.UTC(), r.Updated.UTC(), r.Expires.UTC()
	c.Metadata, c.Data = bytes.Clone(r.Metadata), bytes.Clone(r.Data)
	return &c
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
		r := clone(&records[i])
		r.Revision = 1
		s.put(r)
	}
	return nil
}

func (s *Store) put(r *runs.Record) {
	put(s.records, r.Kind, r)
	if r.Kind == runs.Run {
		put(s.runsOf, r.Parent, r)
	}
}

func put[K comparable](all map[K]map[string]*runs.Record, group K, r *runs.Record) {
	if all[group] == nil {
		all[group] = map[string]*runs.Record{}
	}
	all[group][r.ID] = r
}

// Get implements [runs.Store].
func (s *Store) Get(ctx context.Context, kind runs.Kind, id string) (runs.Record, error) {
	if err := ctx.Err(); err != nil {
		return runs.Record{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.records[kind][id]
	if r == nil {
		return runs.Record{}, notFound(kind, id)
	}
	return *clone(r), nil
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
	old := s.records[r.Kind][r.ID]
	switch {
	case old == nil:
		return notFound(r.Kind, r.ID)
	case old.Revision != r.Revision:
		return fmt.Errorf("%s %s %w", r.Kind, r.ID, runs.ErrConflict)
	}
	return r.Check()
}

func (s *Store) replace(r *runs.Record) {
	c := clone(r)
	c.Revision++
	if old := s.records[r.Kind][r.ID]; old.Kind == runs.Run {
		delete(s.runsOf[old.Parent], old.ID)
	}
	s.put(c)
}

// Delete implements [runs.Store].
func (s *Store) Delete(ctx context.Context, kind runs.Kind, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[kind][id]
	if r == nil {
		return notFound(kind, id)
	}
	delete(s.records[kind], id)
	switch kind {
	case runs.Thread:
		for run := range s.runsOf[id] {
			delete(s.records[runs.Run], run)
		}
		delete(s.runsOf, id)
		delete(s.logs, id)
		delete(s.tasks, id)
	case runs.Run:
		delete(s.runsOf[r.Parent], id)
		if l := s.logs[r.Parent]; l != nil {
			l.remove(id)
		}
	case runs.Assistant:
		for _, v := range s.records[runs.Version] {
			if v.Parent == id {
				delete(s.records[runs.Version], v.ID)
			}
		}
	}
	return nil
}

// Search implements [runs.Store].
func (s *Store) Search(ctx context.Context, q runs.Query) ([]runs.Record, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	found := s.selected(&q)
	slices.SortFunc(found, func(a, b *runs.Record) int {
		c := compare(q.Order, a, b)
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
	for i, r := range found {
		out[i] = *clone(r)
	}
	return out, total, nil
}

// selected returns the records that a query selects.
func (s *Store) selected(q *runs.Query) []*runs.Record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := s.records[q.Kind]
	if q.Kind == runs.Run && q.Parent != "" {
		all = s.runsOf[q.Parent]
	}
	var found []*runs.Record
	if q.IDs != nil {
		for _, id := range q.IDs {
			if r := all[id]; r != nil && !slices.Contains(found, r) && matches(q, r) {
				found = append(found, r)
			}
		}
		return found
	}
	for _, r := range all {
		if matches(q, r) {
			found = append(found, r)
		}
	}
	return found
}

func matches(q *runs.Query, r *runs.Record) bool {
	return (q.Parent == "" || r.Parent == q.Parent) && (q.Owner == nil || r.Owner == *q.Owner) &&
		(q.Graph == "" || r.Graph == q.Graph) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status)) &&
		(q.Name == "" || strings.Contains(strings.ToLower(r.Name), strings.ToLower(q.Name))) &&
		(q.Expired.IsZero() || !r.Expires.IsZero() && !r.Expires.After(q.Expired)) && runs.Contains(r.Metadata, q.Metadata)
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
	case runs.ByID:
	default:
		c = a.Created.Compare(b.Created)
	}
	return cmp.Or(c, strings.Compare(a.ID, b.ID))
}
