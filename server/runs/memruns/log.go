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

// A log is the event log of a thread. The events of runs that have ended are compressed, and those
// of a long run in portions: most logs are not read again.
type log struct {
	segments      []segment    // each has at least one event
	recent        []runs.Event // the events after those of the segments
	recentBytes   int64        // of the data of recent events
	bytes         int64        // of the data of all events
	last, trimmed int64
}

// A segment has successive events of a log.
type segment struct {
	last   int64     // the number of its last event
	oldest time.Time // the time of its first event
	count  int
	data   []byte // compressed
}

// A portion of a log is compressed when it has as many events or bytes, also before the run ends.
const (
	segmentEvents = 64
	segmentBytes  = 64 << 10
)

// pack compresses the recent events.
func (l *log) pack() {
	if len(l.recent) > 0 {
		l.segments = append(slices.Clip(l.segments), newSegment(l.recent))
	}
	l.recent, l.recentBytes = nil, 0
}

func newSegment(events []runs.Event) segment {
	data := bytes.Clone(s2.Encode(nil, packEvents(events))) // without the free space behind it
	return segment{last: events[len(events)-1].Seq, oldest: events[0].Time, count: len(events), data: data}
}

func (g *segment) events() ([]runs.Event, error) {
	data, err := s2.Decode(nil, g.data)
	if err != nil {
		return nil, fmt.Errorf("memruns: the compressed events up to number %d: %w", g.last, err)
	}
	return unpackEvents(string(data), g.count), nil
}

// add adds events to the end of the log.
func (l *log) add(events []runs.Event) {
	for _, e := range events {
		if len(l.recent) >= segmentEvents || l.recentBytes >= segmentBytes {
			l.pack()
		}
		e.Data = bytes.Clone(e.Data)
		l.recent = append(l.recent, e)
		l.recentBytes += int64(len(e.Data))
		l.bytes += int64(len(e.Data))
		l.last = e.Seq
	}
}

// remove removes the events of a run.
func (l *log) remove(run string) error {
	of := func(e runs.Event) bool { return e.Run == run }
	kept := make([]segment, 0, len(l.segments))
	removed := int64(0)
	for _, g := range l.segments {
		events, err := g.events()
		if err != nil {
			return err
		}
		if n := dataOf(events, of); slices.ContainsFunc(events, of) {
			removed += n
			if events = slices.DeleteFunc(events, of); len(events) == 0 {
				continue
			}
			g = newSegment(events)
		}
		kept = append(kept, g)
	}
	n := dataOf(l.recent, of)
	l.segments, l.recent = kept, slices.DeleteFunc(l.recent, of)
	l.recentBytes -= n
	l.bytes -= removed + n
	return nil
}

// dataOf returns the size of the data of some events.
func dataOf(events []runs.Event, of func(runs.Event) bool) (size int64) {
	for _, e := range events {
		if of(e) {
			size += int64(len(e.Data))
		}
	}
	return size
}

// trim removes the oldest events until the log is within bounds.
func (l *log) trim(keep *runs.Bounds) (removed int, err error) {
	left := len(l.recent)
	for i := range l.segments {
		left += l.segments[i].count
	}
	for len(l.segments) > 0 && !l.within(keep, l.segments[0].oldest, left) {
		events, err := l.segments[0].events()
		if err != nil {
			return removed, err
		}
		n := l.excess(events, keep, left)
		removed, left = removed+n, left-n
		if n < len(events) {
			l.segments[0] = newSegment(events[n:])
			return removed, nil
		}
		l.segments = slices.Clone(l.segments[1:])
	}
	if len(l.segments) > 0 {
		return removed, nil
	}
	if n := l.excess(l.recent, keep, left); n > 0 {
		l.recent = slices.Clone(l.recent[n:])
		l.recentBytes = l.bytes
		removed += n
	}
	return removed, nil
}

// within reports whether a log with a number of events, the oldest one of a time, is within bounds.
func (l *log) within(keep *runs.Bounds, oldest time.Time, left int) bool {
	return !oldest.Before(keep.Since) && (keep.Events <= 0 || left <= keep.Events) && (keep.Bytes <= 0 || l.bytes <= keep.Bytes)
}

// excess returns how many of the oldest events of a log are to be removed, and counts them as
// removed.
func (l *log) excess(oldest []runs.Event, keep *runs.Bounds, left int) int {
	n := 0
	for ; n < len(oldest) && !l.within(keep, oldest[n].Time, left-n); n++ {
		l.bytes -= int64(len(oldest[n].Data))
		l.trimmed = oldest[n].Seq
	}
	return n
}

// after returns copies of the events after a number, up to a limit if that is not 0.
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
	if !full() {
		n := len(found)
		add(l.recent)
		for i := n; i < len(found); i++ {
			found[i].Data = bytes.Clone(found[i].Data)
		}
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
	if len(replaced) > 0 { // a run ends with a change of its record
		l.pack()
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
