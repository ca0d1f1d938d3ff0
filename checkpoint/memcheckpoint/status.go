package memcheckpoint

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// ListStatus implements [checkpoint.StatusLister]. It reads the status of all threads when the loop starts.
func (s *Store) ListStatus(ctx context.Context, q checkpoint.StatusQuery) iter.Seq2[checkpoint.ThreadStatus, error] {
	return func(yield func(checkpoint.ThreadStatus, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.ThreadStatus{}, err)
			return
		}
		found, err := s.statuses(ctx, &q)
		for _, status := range found {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(status, nil) {
				return
			}
		}
		if err != nil {
			yield(checkpoint.ThreadStatus{}, err)
		}
	}
}

// statuses returns the entries that a query selects, in the order of ListStatus.
func (s *Store) statuses(ctx context.Context, q *checkpoint.StatusQuery) ([]checkpoint.ThreadStatus, error) {
	var found []checkpoint.ThreadStatus
	for _, id := range s.threadIDs("") {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t := s.lock(id, false)
		if t == nil {
			continue
		}
		at := t.newestOf("")
		if at != none && t.pending[at] != nil {
			marks, _ := checkpoint.Marks(t.writes(at))
			found = append(found, q.Select(id, time.Unix(0, t.records.at(at).time), marks)...)
		}
		t.mu.Unlock()
	}
	slices.SortFunc(found, checkpoint.ThreadStatus.Compare)
	if q.Limit > 0 {
		found = found[:min(q.Limit, len(found))]
	}
	return found, ctx.Err()
}
