package server

import (
	"context"
	"encoding/json"
	"errors"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"github.com/weft-go/weft/server/runs"
)

// A threadLog gives the events of a thread to any number of readers. It stores an event before a reader gets it. It keeps
// the newest events in memory until each reader has them, and reads older ones from the store. The log is open while a
// run or a reader uses it.
type threadLog struct {
	store  runs.Store
	thread string
	stored *metrics.Counter // counts stored events, unless it is nil
	tell   func()           // tells other servers that there are new events; nil if no servers share a queue
	soon   atomic.Bool      // a refresh is scheduled
	keep   runs.Bounds      // without Since
	users  int              // guarded by Server.mu

	load    sync.Once
	loadErr error

	appending  sync.Mutex // held while events are stored
	grown      int        // the number of events since the last trim; guarded by appending
	grownBytes int64      // their size

	mu      sync.Mutex
	events  []runs.Event // the events after base
	size    int          // the size of their data
	base    int64
	last    int64
	readers map[*logReader]struct{}
	begun   map[string]int64 // for each unfinished run that this process has begun, the number of the event before its first one
	changed chan struct{}    // closed and replaced when events are added
}

const (
	maxRecent      = 1024    // events in memory
	maxRecentBytes = 1 << 20 // and the size of their data
	logPage        = 256     // events of one read from the store
)

func newThreadLog(store runs.Store, thread string, keep runs.Bounds) *threadLog {
	return &threadLog{store: store, thread: thread, keep: keep, readers: map[*logReader]struct{}{}, begun: map[string]int64{}, changed: make(chan struct{})}
}

// openLog returns the log of a thread. Call closeLog afterwards.
func (s *Server) openLog(ctx context.Context, thread string) (*threadLog, error) {
	s.mu.Lock()
	l := s.logs[thread]
	if l == nil {
		l = newThreadLog(s.o.Runs, thread, runs.Bounds{Events: s.o.MaxEvents, Bytes: s.o.MaxEventBytes})
		l.stored = s.meters.events
		if s.o.Queue != nil {
			l.tell = func() { s.tell(thread) }
		}
		s.logs[thread] = l
	}
	l.users++
	again := l.users > 1 && s.o.Queue != nil
	s.mu.Unlock()
	l.load.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
		defer cancel()
		l.loadErr = l.open(ctx)
	})
	if l.loadErr != nil {
		s.dropLog(thread, l) // the next call reads the store again
		s.closeLog(l)
		return nil, l.loadErr
	}
	if again { // other servers may have stored events since
		if err := l.refresh(ctx); err != nil {
			s.closeLog(l)
			return nil, err
		}
	}
	return l, nil
}

func (s *Server) closeLog(l *threadLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.users--; l.users == 0 && s.logs[l.thread] == l {
		delete(s.logs, l.thread)
	}
}

// dropLog forgets the log of a thread that was deleted, or a log that could not be opened. Readers of the log get no
// more events. If l is not nil, dropLog forgets only this log.
func (s *Server) dropLog(thread string, l *threadLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l == nil || s.logs[thread] == l {
		delete(s.logs, thread)
	}
}

func (l *threadLog) open(ctx context.Context) error {
	last, _, err := l.store.Last(ctx, l.thread)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.base, l.last = last, last
	return err
}

// add adds stored events to the events in memory.
func (l *threadLog) add(events []runs.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	read := true
	for r := range l.readers {
		read = read && r.has >= l.last
	}
	if read { // each reader has all earlier events
		l.events, l.size, l.base = nil, 0, l.last
	}
	for i := range events {
		e := &events[i]
		l.last = e.Seq
		l.size += len(e.Data)
		if e.Kind == kindEnd {
			delete(l.begun, e.Run)
		}
	}
	l.events = append(l.events, events...)
	drop := 0
	for size := l.size; drop < len(l.events)-1 && (len(l.events)-drop > maxRecent || size > maxRecentBytes); drop++ {
		size -= len(l.events[drop].Data)
	}
	// Drop many events at once, because the remaining ones must be copied: a reader may use the old slice.
	if drop > maxRecent/2 || drop > 0 && l.size > 2*maxRecentBytes {
		for _, e := range l.events[:drop] {
			l.size -= len(e.Data)
		}
		l.base = l.events[drop-1].Seq
		l.events = append(make([]runs.Event, 0, len(l.events)), l.events[drop:]...)
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// append stores events and wakes the readers. It replaces records in the same transaction.
func (l *threadLog) append(ctx context.Context, events []runs.Event, replaced ...runs.Record) error {
	return l.appendOf(ctx, nil, events, replaced...)
}

// appendOf is like append, for a writer. If another writer has added events since, it first checks that w owns its run.
func (l *threadLog) appendOf(ctx context.Context, w *logWriter, events []runs.Event, replaced ...runs.Record) error {
	l.appending.Lock()
	defer l.appending.Unlock()
	for {
		last := l.end()
		if w != nil && w.owns != nil && last != w.last {
			if err := w.owns(ctx); err != nil {
				return err
			}
			w.last = last
		}
		for i := range events {
			events[i].Seq = last + int64(i) + 1
		}
		err := l.store.Append(ctx, l.thread, events, replaced...)
		if err == nil {
			break
		}
		if !errors.Is(err, runs.ErrConflict) {
			return err
		}
		if moved, merr := l.catchUp(ctx); merr != nil || !moved {
			return errors.Join(err, merr)
		}
	}
	if l.stored != nil {
		l.stored.Add(len(events))
	}
	if w != nil && len(events) > 0 {
		w.last = events[len(events)-1].Seq
	}
	l.add(events)
	if l.tell != nil {
		l.tell()
	}
	l.trim(ctx, events)
	return nil
}

// catchUp reads the events that other servers have stored in the log of the thread. They include a server that was
// killed, since its last call of the store can take effect after its end. catchUp reports whether there were any events.
func (l *threadLog) catchUp(ctx context.Context) (moved bool, err error) {
	last, _, err := l.store.Last(ctx, l.thread)
	at := l.end()
	if err != nil || last == at {
		return false, err
	}
	if last < at || last > at+maxRecent { // the thread was deleted, or there are so many events that readers read the store
		l.restart(last)
		return true, nil
	}
	for at < last {
		events, err := l.store.Events(ctx, l.thread, at, logPage)
		if err != nil {
			return false, err
		}
		if len(events) == 0 || events[0].Seq != at+1 { // the events in between are no longer kept
			l.restart(last)
			break
		}
		l.add(events)
		at = events[len(events)-1].Seq
	}
	return true, nil
}

// restart forgets the events in memory. The next event gets the number after last.
func (l *threadLog) restart(last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events, l.size, l.base, l.last = nil, 0, last, last
	close(l.changed)
	l.changed = make(chan struct{})
}

// refresh reads the events that other servers have stored.
func (l *threadLog) refresh(ctx context.Context) error {
	l.appending.Lock()
	defer l.appending.Unlock()
	_, err := l.catchUp(ctx)
	return err
}

// refreshSoon reads the events that other servers have stored, in the background. Calls before the read begins have the
// effect of one call.
func (l *threadLog) refreshSoon(s *Server) {
	if l.soon.Swap(true) {
		return
	}
	s.running.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, storeTime)
		defer cancel()
		l.appending.Lock()
		defer l.appending.Unlock()
		l.soon.Store(false)
		_, _ = l.catchUp(ctx) // the next call tries again
	})
}

// trim removes old events each time the log has grown by a tenth of its bounds.
func (l *threadLog) trim(ctx context.Context, added []runs.Event) {
	l.grown += len(added)
	for i := range added {
		l.grownBytes += int64(len(added[i].Data))
	}
	if (l.keep.Events <= 0 || l.grown < l.keep.Events/10+1) && (l.keep.Bytes <= 0 || l.grownBytes < l.keep.Bytes/10+1) {
		return
	}
	if _, err := l.store.Trim(ctx, l.thread, l.keep); err == nil { // after an error, the next append tries again
		l.grown, l.grownBytes = 0, 0
	}
}

// begin records that the next event is the first one of a run, and returns the number of the event before it. For a run
// that began earlier, the caller passes this number as before.
func (l *threadLog) begin(run string, before *int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun[run] = l.last
	if before != nil {
		l.begun[run] = *before
	}
	return l.begun[run]
}

// before returns the number of the event before the first one of a run, even if that event is no longer kept. It returns
// the number of the last event if the run has not begun.
func (l *threadLog) before(ctx context.Context, run string) (int64, error) {
	l.mu.Lock()
	first, begun := l.begun[run]
	last := l.last
	l.mu.Unlock()
	// If servers share a queue, this server may have prepared to begin a run that another one executes.
	if begun && l.tell == nil {
		return first, nil
	}
	r, err := l.store.Get(ctx, runs.Run, run)
	if errors.Is(err, runs.ErrNotFound) {
		return last, nil
	}
	if err != nil {
		return 0, err
	}
	var d struct{ Before *int64 } // a part of runData
	if err := json.Unmarshal(r.Data, &d); err != nil || d.Before == nil {
		return last, err
	}
	return *d.Before, nil
}

// runAfter finds the run of the first event after seq. It returns the number of the event before the first one of this
// run, or seq if the run begins later.
func (l *threadLog) runAfter(ctx context.Context, seq int64) (int64, error) {
	events, _, _, err := l.after(ctx, seq)
	if err != nil || len(events) == 0 {
		return seq, err
	}
	before, err := l.before(ctx, events[0].Run)
	return min(before, seq), err
}

// end returns the number of the last event.
func (l *threadLog) end() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// after returns events with higher numbers than seq. If there is none, it returns a channel that is closed when there is
// one. missed is the number of events after seq that are no longer kept.
func (l *threadLog) after(ctx context.Context, seq int64) (events []runs.Event, missed int64, changed <-chan struct{}, err error) {
	events, changed, found := l.recent(seq)
	if found {
		return events, 0, changed, nil
	}
	page, err := l.store.Events(ctx, l.thread, seq, logPage)
	if err != nil {
		return nil, 0, nil, err
	}
	if len(page) > 0 && page[0].Seq == seq+1 {
		return page, 0, nil, nil
	}
	_, trimmed, err := l.store.Last(ctx, l.thread)
	if err != nil {
		return nil, 0, nil, err
	}
	if len(page) == 0 {
		return nil, max(trimmed-seq, 0), changed, nil
	}
	return page, max(min(trimmed, page[0].Seq-1)-seq, 0), nil, nil
}

// recent returns the events after seq, or a channel that is closed when there is one. If some of the events are no longer
// in memory, it returns false and the channel.
func (l *threadLog) recent(seq int64) (events []runs.Event, changed <-chan struct{}, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case seq >= l.last:
		return nil, l.changed, true
	case seq < l.base:
		return nil, l.changed, false
	}
	at := sort.Search(len(l.events), func(i int) bool { return l.events[i].Seq > seq })
	return l.events[at:len(l.events):len(l.events)], nil, true
}
