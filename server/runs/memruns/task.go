package memruns

import (
	"context"
	"slices"

	"github.com/weft-go/weft/server/runs"
)

// A taskList has the tasks of a thread. Each is packed in a string that never changes. A short list has no maps, because
// they would take most of its memory.
type taskList struct {
	packed       []string
	byID         map[string]int
	byCheckpoint map[string][]int
}

// shortList is the largest number of tasks in a list without maps.
const shortList = 16

// put adds tasks. It replaces the data of tasks with the same ids.
func (l *taskList) put(tasks []runs.Task) {
	for i := range tasks {
		if at := l.find(tasks[i].ID); at >= 0 {
			old, _ := unpackTask(l.packed[at])
			t := tasks[i]
			t.Checkpoint = old.Checkpoint
			l.packed[at] = packTask(&t)
			continue
		}
		l.packed = append(l.packed, packTask(&tasks[i]))
		switch n := len(l.packed); {
		case l.byID != nil:
			l.index(n - 1)
		case n > shortList:
			l.byID, l.byCheckpoint = map[string]int{}, map[string][]int{}
			for i := range l.packed {
				l.index(i)
			}
		}
	}
}

// index adds a task to the maps.
func (l *taskList) index(i int) {
	t, _ := unpackTask(l.packed[i])
	l.byID[t.ID], l.byCheckpoint[t.Checkpoint] = i, append(l.byCheckpoint[t.Checkpoint], i)
}

// find returns the index of a task, or -1.
func (l *taskList) find(id string) int {
	if l.byID != nil {
		if i, ok := l.byID[id]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(l.packed, func(packed string) bool { t, _ := unpackTask(packed); return t.ID == id })
}

// at returns the indexes of the tasks of checkpoints, in order.
func (l *taskList) at(checkpoints []string) (places []int) {
	if l.byID == nil {
		for i, packed := range l.packed {
			if t, _ := unpackTask(packed); slices.Contains(checkpoints, t.Checkpoint) {
				places = append(places, i)
			}
		}
		return places
	}
	for _, c := range checkpoints {
		places = append(places, l.byCheckpoint[c]...)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// PutTasks implements [runs.Store].
func (s *Store) PutTasks(ctx context.Context, thread string, tasks []runs.Task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thread(thread).tasks.put(tasks)
	return nil
}

// Tasks implements [runs.Store].
func (s *Store) Tasks(ctx context.Context, thread string, checkpoints ...string) ([]runs.Task, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.threads[thread]
	if t == nil {
		return nil, nil
	}
	places := t.tasks.at(checkpoints)
	out := make([]runs.Task, len(places))
	for i, at := range places {
		out[i] = copyTask(t.tasks.packed[at])
	}
	return out, nil
}

func copyTask(packed string) runs.Task {
	t, rest := unpackTask(packed)
	t.Data = rest.bytes()
	return t
}

// CopyTasks implements [runs.Store].
func (s *Store) CopyTasks(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[from]
	if t == nil {
		return nil
	}
	tasks := make([]runs.Task, len(t.tasks.packed))
	for i, packed := range t.tasks.packed {
		tasks[i] = copyTask(packed)
	}
	s.thread(to).tasks.put(tasks)
	return nil
}
