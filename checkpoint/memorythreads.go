package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// ListThreads implements [ThreadLister].
func (m *Memory) ListThreads(ctx context.Context, prefix string) iter.Seq2[ThreadInfo, error] {
	return func(yield func(ThreadInfo, error) bool) {
		for _, id := range m.threadIDs(prefix) {
			if err := ctx.Err(); err != nil {
				yield(ThreadInfo{}, err)
				return
			}
			info, ok := m.threadInfo(id)
			if ok && !yield(info, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(ThreadInfo{}, err)
		}
	}
}

func (m *Memory) threadInfo(id string) (ThreadInfo, bool) {
	t := m.thread(id)
	if t == nil {
		return ThreadInfo{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.log
	info := ThreadInfo{ID: id, Checkpoints: l.len(), Created: l.time(0), Updated: l.time(l.updated)}
	return info, l.len() > 0
}

func (m *Memory) threadIDs(prefix string) []string {
	var ids []string
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.RLock()
		for id := range s.threads {
			if strings.HasPrefix(id, prefix) {
				ids = append(ids, id)
			}
		}
		s.mu.RUnlock()
	}
	slices.Sort(ids)
	return ids
}

// CopyThread implements [ThreadCopier]. The copy keeps the times of its source.
func (m *Memory) CopyThread(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if from == "" || to == "" {
		return fmt.Errorf("checkpoint: copy of thread %q to %q: empty thread id: %w", from, to, ErrInvalid)
	}
	log := m.copyLog(from)
	if log == nil {
		return fmt.Errorf("checkpoint: copy of thread %q: %w", from, ErrNotFound)
	}
	s := m.shard(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[to] != nil {
		return fmt.Errorf("checkpoint: copy of thread %q: thread %q exists: %w", from, to, ErrConflict)
	}
	s.enter(to, &memoryThread{log: log})
	return nil
}

// copyLog returns nil if there is no such thread.
func (m *Memory) copyLog(thread string) *memoryLog {
	t := m.thread(thread)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log.len() == 0 {
		return nil
	}
	return t.log.without(make([]bool, t.log.len()))
}
