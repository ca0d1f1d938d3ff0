package memcheckpoint

import (
	"context"
	"fmt"
	"iter"
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
				Checkpoints: len(t.records),
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
	copied := newThread()
	copied.created, copied.updated = t.created, t.updated
	copies := map[*record]*record{}
	for _, r := range t.records {
		c := *r
		c.parent = copies[r.parent]
		if p := copies[r.previous]; p != nil {
			c.previous = p // else share the removed record, which no longer changes
		}
		copies[r] = &c
		copied.add(&c)
	}
	copied.pending = make(map[*record]*pendingWrites, len(t.pending))
	for r, writes := range t.pending {
		copied.pending[copies[r]] = &pendingWrites{list: slices.Clone(writes.list), sorted: writes.sorted}
	}
	return copied
}
