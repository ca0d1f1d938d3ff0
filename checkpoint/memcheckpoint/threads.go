package memcheckpoint

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// ListThreads implements [checkpoint.ThreadLister]. It yields the threads that
// exist when the loop starts, except those deleted before the loop reaches them.
func (s *Store) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		for _, id := range s.threadIDs(prefix) {
			if err := ctx.Err(); err != nil {
				yield(checkpoint.ThreadInfo{}, err)
				return
			}
			t := s.lock(id, false)
			if t == nil {
				continue
			}
			info := checkpoint.ThreadInfo{
				ID:          id,
				Checkpoints: t.checkpoints,
				Created:     time.Unix(0, t.created),
				Updated:     time.Unix(0, t.updated),
			}
			t.mu.Unlock()
			if !yield(info, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(checkpoint.ThreadInfo{}, err)
		}
	}
}

// threadIDs returns the ids with the prefix in order.
func (s *Store) threadIDs(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []string
	for id := range s.threads {
		if strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// CopyThread implements [checkpoint.ThreadCopier]. The copy has the times of its
// source.
func (s *Store) CopyThread(ctx context.Context, from, to string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if from == "" || to == "" {
		return fmt.Errorf("memcheckpoint: copy thread %q to %q: empty thread id: %w", from, to, checkpoint.ErrInvalid)
	}
	t := s.lock(from, false)
	if t == nil {
		return fmt.Errorf("memcheckpoint: copy thread %q: %w", from, checkpoint.ErrNotFound)
	}
	copied := t.copy()
	t.mu.Unlock()
	if !s.add(to, copied) {
		return fmt.Errorf("memcheckpoint: copy thread %q: thread %q already exists: %w", from, to, checkpoint.ErrConflict)
	}
	return nil
}

// copy returns a thread with the same checkpoints and pending writes. The two
// threads share only immutable data.
func (t *thread) copy() *thread {
	copied := &thread{created: t.created, updated: t.updated, checkpoints: t.checkpoints, byID: slices.Clone(t.byID), last: t.last, newest: maps.Clone(t.newest)}
	copied.records, copied.labels, copied.chunks = t.records.clone(), slices.Clone(t.labels), slices.Clone(t.chunks)
	if last := len(copied.chunks) - 1; last >= 0 { // the copy adds its data to a chunk of its own
		copied.used = len(copied.chunks[last])
	}
	copied.pending = make(map[int32]*pendingWrites, len(t.pending))
	for at, writes := range t.pending {
		copied.pending[at] = &pendingWrites{list: slices.Clone(writes.list), sorted: writes.sorted}
	}
	return copied
}
