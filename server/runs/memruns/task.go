package memruns

import (
	"bytes"
	"context"
	"slices"

	"github.com/weft-go/weft/server/runs"
)

// A taskList has the tasks of a thread.
type taskList struct {
	tasks        []runs.Task
	byID         map[string]int
	byCheckpoint map[string][]int
}

// PutTasks implements [runs.Store].
func (s *Store) PutTasks(ctx context.Context, thread string, tasks []runs.Task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
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
		t.Data = bytes.Clone(t.Data)
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
func (s *Store) Tasks(ctx context.Context, thread string, checkpoints ...string) ([]runs.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
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
	at = slices.Compact(at)
	out := make([]runs.Task, len(at))
	for i, n := range at {
		out[i] = l.tasks[n]
		out[i].Data = bytes.Clone(out[i].Data)
	}
	return out, nil
}

// CopyTasks implements [runs.Store].
func (s *Store) CopyTasks(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.tasks[from]; l != nil {
		s.putTasks(to, slices.Clone(l.tasks))
	}
	return nil
}
