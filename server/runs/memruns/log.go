package memruns

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/weft-go/weft/server/runs"
)

// A log is the event log of a thread. Its events are packed. The events of runs that have ended, and of long runs in
// portions, are also compressed, because most logs are not read again.
type log struct {
	segments      []segment
	open          *openSegment // the events after the segments; nil if there are none
	bytes         int64        // the size of the data of all events
	last, trimmed int64
}

// A segment has successive events of a log, at least one.
type segment struct {
	last   int64     // the number of its last event
	oldest time.Time // the time of its first event
	count  int
	data   []byte // packed and, if the segment is not open, compressed
}

// An openSegment receives the next events.
type openSegment struct {
	segment
	before runs.Event // its last event, against which the next one is packed
}

// segmentBytes is the size at which an open segment is compressed, even if the run has not ended.
const segmentBytes = 8 << 10

// close compresses the events of the open segment.
func (l *log) close() {
	if l.open == nil {
		return
	}
	g := l.open.segment
	g.data = bytes.Clone(s2.Encode(nil, g.data)) // Clone drops the unused capacity
	l.segments, l.open = append(l.segments, g), nil
}

// newSegment returns a compressed segment.
func newSegment(events []runs.Event) segment {
	l := log{}
	for i := range events {
		l.put(&events[i])
	}
	l.close()
	return l.segments[0]
}

// events returns the events of a compressed segment.
func (g *segment) events() ([]runs.Event, error) {
	data, err := s2.Decode(nil, g.data)
	if err != nil {
		return nil, fmt.Errorf("memruns: the compressed events up to number %d: %w", g.last, err)
	}
	return unpackEvents(string(data), g.count), nil
}

// add adds events to the end of the log.
func (l *log) add(events []runs.Event) {
	for i := range events {
		l.put(&events[i])
		if len(l.open.data) >= segmentBytes {
			l.close()
		}
		l.bytes += int64(len(events[i].Data))
		l.last = events[i].Seq
	}
}

// put adds an event to the open segment.
func (l *log) put(e *runs.Event) {
	if l.open == nil {
		l.open = &openSegment{segment: segment{oldest: e.Time}}
	}
	g := l.open
	g.data = packEvent(g.data, e, &g.before)
	g.before, g.before.Data = *e, nil
	g.last = e.Seq
	g.count++
}

// remove removes the events of a run.
func (l *log) remove(run string) error {
	l.close()
	kept := make([]segment, 0, len(l.segments))
	removed := int64(0)
	for _, g := range l.segments {
		events, err := g.events()
		if err != nil {
			return err
		}
		n := len(events)
		events = slices.DeleteFunc(events, func(e runs.Event) bool {
			if e.Run == run {
				removed += int64(len(e.Data))
			}
			return e.Run == run
		})
		switch len(events) {
		case n:
			kept = append(kept, g)
		case 0:
		default:
			kept = append(kept, newSegment(events))
		}
	}
	l.segments = kept
	l.bytes -= removed
	return nil
}

// trim removes the oldest events until the log is within bounds.
func (l *log) trim(keep *runs.Bounds) (removed int, err error) {
	left := 0
	for i := range l.segments {
		left += l.segments[i].count
	}
	if l.open != nil {
		left += l.open.count
	}
	gone := 0
	for {
		if gone == len(l.segments) && l.open != nil && !l.within(keep, l.open.oldest, left) {
			l.close()
		}
		if gone == len(l.segments) || l.within(keep, l.segments[gone].oldest, left) {
			break
		}
		var events []runs.Event
		if events, err = l.segments[gone].events(); err != nil {
			break
		}
		n := l.excess(events, keep, left)
		removed, left = removed+n, left-n
		if n < len(events) {
			l.segments[gone] = newSegment(events[n:])
			break
		}
		gone++
	}
	l.segments = slices.Delete(l.segments, 0, gone)
	return removed, err
}

// within reports whether a log is within bounds. oldest is the time of its first event, and left the number of its
// events.
func (l *log) within(keep *runs.Bounds, oldest time.Time, left int) bool {
	return !oldest.Before(keep.Since) && (keep.Events <= 0 || left <= keep.Events) && (keep.Bytes <= 0 || l.bytes <= keep.Bytes)
}

// excess returns the number of the oldest events to remove from a log, and counts them as removed.
func (l *log) excess(oldest []runs.Event, keep *runs.Bounds, left int) int {
	n := 0
	for ; n < len(oldest) && !l.within(keep, oldest[n].Time, left-n); n++ {
		l.bytes -= int64(len(oldest[n].Data))
		l.trimmed = oldest[n].Seq
	}
	return n
}

// after returns the events after a number. If limit is not 0, it returns at most limit events.
func (l *log) after(seq int64, limit int) (found []runs.Event, err error) {
	full := func() bool { return limit > 0 && len(found) >= limit }
	add := func(events []runs.Event) {
		at, _ := slices.BinarySearchFunc(events, seq+1, func(e runs.Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
		events = events[at:]
		if limit > 0 {
			events = events[:min(limit-len(found), len(events))]
		}
		found = append(found, events...)
	}
	at, _ := slices.BinarySearchFunc(l.segments, seq+1, func(g segment, seq int64) int { return cmp.Compare(g.last, seq) })
	for i := at; i < len(l.segments) && !full(); i++ {
		events, err := l.segments[i].events()
		if err != nil {
			return nil, err
		}
		add(events)
	}
	if l.open != nil && l.open.last > seq && !full() {
		add(unpackEvents(string(l.open.data), l.open.count))
	}
	return found, nil
}

// Append implements [runs.Store].
func (s *Store) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := int64(0)
	if t := s.threads[thread]; t != nil {
		last = t.log.last
	}
	for i := range events {
		if want := last + int64(i) + 1; events[i].Seq != want {
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
	if len(events) == 0 {
		return nil
	}
	l := &s.thread(thread).log
	l.add(events)
	if len(replaced) > 0 { // the end of a run replaces its record
		l.close()
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
	if t := s.threads[thread]; t != nil {
		return t.log.after(after, limit)
	}
	return nil, nil
}

// Last implements [runs.Store].
func (s *Store) Last(ctx context.Context, thread string) (last, trimmed int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.threads[thread]; t != nil {
		return t.log.last, t.log.trimmed, nil
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
		if t := s.threads[thread]; t != nil {
			return t.log.trim(&keep)
		}
		return 0, nil
	}
	removed := 0
	for _, t := range s.threads {
		n, err := t.log.trim(&keep)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
