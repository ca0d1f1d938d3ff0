// Package memruns keeps the records and event logs of a server in memory. They end with the
// process.
package memruns

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A Store keeps records in memory. It is safe for concurrent use.
type Store struct {
	mu      sync.RWMutex
	records map[runs.Kind]map[string]*runs.Record
	runsOf  map[string]map[string]*runs.Record // the runs of each thread
	logs    map[string]*log
	tasks   map[string]*taskList
}

var _ runs.Store = (*Store)(nil)

// A log is the event log of a thread.
type log struct {
	events []runs.Event
	last   int64
}

// A taskList has the tasks of a thread.
type taskList struct {
	tasks        []runs.Task
	byID         map[string]int
	byCheckpoint map[string][]int
}

// New returns an empty store.
func New() *Store {
	return &Store{
		records: map[runs.Kind]map[string]*runs.Record{}, runsOf: map[string]map[string]*runs.Record{},
		logs: map[string]*log{}, tasks: map[string]*taskList{},
	}
}

// Insert implements [runs.Store].
func (s *Store) Insert(_ context.Context, records ...runs.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range records {
		if s.records[r.Kind][r.ID] != nil {
			return fmt.Errorf("%s %s %w", r.Kind, r.ID, runs.ErrExists)
		}
	}
	for _, r := range records {
		r.Revision = 1
		s.put(&r)
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
func (s *Store) Get(_ context.Context, kind runs.Kind, id string) (runs.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.records[kind][id]
	if r == nil {
		return runs.Record{}, notFound(kind, id)
	}
	return *r, nil
}

func notFound(kind runs.Kind, id string) error {
	return fmt.Errorf("%s %s %w", kind, id, runs.ErrNotFound)
}

// Update implements [runs.Store].
func (s *Store) Update(_ context.Context, r runs.Record) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.records[r.Kind][r.ID]
	switch {
	case old == nil:
		return 0, notFound(r.Kind, r.ID)
	case old.Revision != r.Revision:
		return 0, fmt.Errorf("%s %s %w", r.Kind, r.ID, runs.ErrConflict)
	}
	r.Revision++
	s.put(&r)
	return r.Revision, nil
}

// Delete implements [runs.Store].
func (s *Store) Delete(_ context.Context, kind runs.Kind, id string) error {
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
			l.events = slices.DeleteFunc(slices.Clone(l.events), func(e runs.Event) bool { return e.Run == id })
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
func (s *Store) Search(_ context.Context, q runs.Query) ([]runs.Record, int, error) {
	found := s.selected(q)
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
		out[i] = *r
	}
	return out, total, nil
}

// selected returns the records that a query selects. A record in the store never changes; a
// new one replaces it.
func (s *Store) selected(q runs.Query) []*runs.Record {
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

func matches(q runs.Query, r *runs.Record) bool {
	return (q.Parent == "" || r.Parent == q.Parent) && (q.Owner == nil || r.Owner == *q.Owner) &&
		(q.Graph == "" || r.Graph == q.Graph) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status)) &&
		(q.Name == "" || strings.Contains(strings.ToLower(r.Name), strings.ToLower(q.Name))) && runs.Contains(r.Metadata, q.Metadata)
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

// Append implements [runs.Store].
func (s *Store) Append(_ context.Context, thread string, events []runs.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[thread]
	if l == nil {
		l = &log{}
		s.logs[thread] = l
	}
	for _, e := range events {
		l.last++
		e.Seq = l.last
		l.events = append(l.events, e)
	}
	return nil
}

// Events implements [runs.Store].
func (s *Store) Events(_ context.Context, thread string, after int64, limit int) ([]runs.Event, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.logs[thread]
	if l == nil {
		return nil, nil
	}
	at, _ := slices.BinarySearchFunc(l.events, after+1, func(e runs.Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
	found := l.events[at:]
	if limit > 0 {
		found = found[:min(limit, len(found))]
	}
	return slices.Clone(found), nil
}

// Last implements [runs.Store].
func (s *Store) Last(_ context.Context, thread string) (int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if l := s.logs[thread]; l != nil {
		return l.last, nil
	}
	return 0, nil
}

// Trim implements [runs.Store].
func (s *Store) Trim(_ context.Context, before time.Time) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.logs {
		kept := slices.DeleteFunc(slices.Clone(l.events), func(e runs.Event) bool { return e.Time.Before(before) })
		n += len(l.events) - len(kept)
		l.events = kept
	}
	return n, nil
}

// PutTasks implements [runs.Store].
func (s *Store) PutTasks(_ context.Context, thread string, tasks []runs.Task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putTasks(thread, tasks)
	return nil
}

func (s *Store) putTasks(thread string, tasks []runs.Task) {
	l := s.tasks[thread]
	if l == nil {
		l = &taskList{byID: map[string]int{}, byCheckpoint: map[string][]int{}}
		s.tasks[thread] = l
	}
	for _, t := range tasks {
		if i, ok := l.byID[t.ID]; ok {
			l.tasks[i].Data = t.Data
			continue
		}
		i := len(l.tasks)
		l.byID[t.ID], l.byCheckpoint[t.Checkpoint] = i, append(l.byCheckpoint[t.Checkpoint], i)
		l.tasks = append(l.tasks, t)
	}
}

// Tasks implements [runs.Store].
func (s *Store) Tasks(_ context.Context, thread string, checkpoints ...string) ([]runs.Task, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.tasks[thread]
	if l == nil {
		return nil, nil
	}
	var at []int
	for _, c := range checkpoints {
		at = append(at, l.byCheckpoint[c]...)
	}
	slices.Sort(at)
	out := make([]runs.Task, len(at))
	for i, n := range at {
		out[i] = l.tasks[n]
	}
	return out, nil
}

// CopyTasks implements [runs.Store].
func (s *Store) CopyTasks(_ context.Context, from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.tasks[from]; l != nil {
		s.putTasks(to, slices.Clone(l.tasks))
	}
	return nil
}
