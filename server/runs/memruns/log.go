package memruns

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/server/runs"
)

// A log is the event log of a thread.
type log struct {
	events        []runs.Event
	bytes         int64 // of the data of the events
	last, trimmed int64
}

// remove removes the events of a run.
func (l *log) remove(run string) {
	l.events = slices.DeleteFunc(l.events, func(e runs.Event) bool {
		if e.Run == run {
			l.bytes -= int64(len(e.Data))
		}
		return e.Run == run
	})
}

// trim removes the oldest events until the log is within bounds.
func (l *log) trim(keep *runs.Bounds) int {
	n := 0
	for ; n < len(l.events); n++ {
		e, left := &l.events[n], len(l.events)-n
		if !e.Time.Before(keep.Since) && (keep.Events <= 0 || left <= keep.Events) && (keep.Bytes <= 0 || l.bytes <= keep.Bytes) {
			break
		}
		l.bytes -= int64(len(e.Data))
		l.trimmed = e.Seq
	}
	if n > 0 {
		l.events = slices.Clone(l.events[n:])
	}
	return n
}

// Append implements [runs.Store].
func (s *Store) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[thread]
	if l == nil {
		l = &log{}
	}
	for i := range events {
		if want := l.last + int64(i) + 1; events[i].Seq != want {
			return fmt.Errorf("the log of thread %s %w: event %d cannot be number %d", thread, runs.ErrConflict, want, events[i].Seq)
		}
	}
	for i := range replaced {
		if err := s.replaceable(&replaced[i]); err != nil {
			return err
		}
	}
	for i := range replaced {
		s.replace(&replaced[i])
	}
	for _, e := range events {
		e.Data = bytes.Clone(e.Data)
		l.events = append(l.events, e)
		l.bytes += int64(len(e.Data))
		l.last = e.Seq
	}
	if len(events) > 0 {
		s.logs[thread] = l
	}
	return nil
}

// Events implements [runs.Store].
func (s *Store) Events(ctx context.Context, thread string, after int64, limit int) ([]runs.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
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
	found = slices.Clone(found)
	for i := range found {
		found[i].Data = bytes.Clone(found[i].Data)
	}
	return found, nil
}

// Last implements [runs.Store].
func (s *Store) Last(ctx context.Context, thread string) (last, trimmed int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if l := s.logs[thread]; l != nil {
		return l.last, l.trimmed, nil
	}
	return 0, 0, nil
}

// Trim implements [runs.Store].
func (s *Store) Trim(ctx context.Context, thread string, keep runs.Bounds) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if thread != "" {
		if l := s.logs[thread]; l != nil {
			return l.trim(&keep), nil
		}
		return 0, nil
	}
	removed := 0
	for _, l := range s.logs {
		removed += l.trim(&keep)
	}
	return removed, nil
}
