package server

import (
	"context"
	"sort"
	"sync"

	"github.com/weft-go/weft/server/runs"
)

// A threadLog gives the events of a thread to any number of readers. An event is stored before
// a reader gets it. The log is open while a run or a reader uses it.
type threadLog struct {
	store  runs.Store
	thread string
	users  int // guarded by Server.mu

	load      sync.Once
	loadErr   error
	appending sync.Mutex // held while events are stored

	mu      sync.Mutex
	events  []runs.Event
	last    int64
	first   map[string]int64 // the number of the first event of each run
	changed chan struct{}    // closed, and replaced, when events were added
}

// openLog returns the log of a thread. Call closeLog afterwards.
func (s *Server) openLog(ctx context.Context, thread string) (*threadLog, error) {
	s.mu.Lock()
	l := s.logs[thread]
	if l == nil {
		l = &threadLog{store: s.o.Runs, thread: thread, first: map[string]int64{}, changed: make(chan struct{})}
		s.logs[thread] = l
	}
	l.users++
	s.mu.Unlock()
	l.load.Do(func() { l.loadErr = l.read(context.WithoutCancel(ctx)) })
	if l.loadErr != nil {
		s.closeLog(l)
		return nil, l.loadErr
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

// dropLog forgets the log of a thread that was deleted. Its readers see no more events.
func (s *Server) dropLog(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.logs, thread)
}

// read loads the stored events.
func (l *threadLog) read(ctx context.Context) error {
	events, err := l.store.Events(ctx, l.thread, 0, 0)
	if err != nil {
		return err
	}
	last, err := l.store.Last(ctx, l.thread)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(events)
	l.last = last
	return nil
}

func (l *threadLog) add(events []runs.Event) {
	for _, e := range events {
		if _, ok := l.first[e.Run]; !ok {
			l.first[e.Run] = e.Seq
		}
		l.last = e.Seq
	}
	l.events = append(l.events, events...)
}

// append stores events and wakes the readers.
func (l *threadLog) append(ctx context.Context, events []runs.Event) error {
	l.appending.Lock()
	defer l.appending.Unlock()
	l.mu.Lock()
	for i := range events {
		events[i].Seq = l.last + int64(i) + 1
	}
	l.mu.Unlock()
	if err := l.store.Append(ctx, l.thread, events); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(events)
	close(l.changed)
	l.changed = make(chan struct{})
	return nil
}

// before returns the number of the event before the first one of a run.
func (l *threadLog) before(run string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first, ok := l.first[run]; ok {
		return first - 1
	}
	return l.last
}

// end returns the number of the last event.
func (l *threadLog) end() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// after returns the events with higher numbers. If there is none, it returns a channel that is
// closed when there is one. An event that is no longer kept is missed.
func (l *threadLog) after(seq int64) (events []runs.Event, missed int64, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == 0 || l.events[len(l.events)-1].Seq <= seq {
		return nil, 0, l.changed
	}
	// Numbers have gaps where runs were deleted.
	at := sort.Search(len(l.events), func(i int) bool { return l.events[i].Seq > seq })
	if oldest := l.events[0].Seq; seq < oldest {
		missed = oldest - seq - 1
	}
	return l.events[at:len(l.events):len(l.events)], missed, nil
}

// A logWriter appends the events of a run to a log. It stores events while the run goes on: all
// events that came while others were being stored are stored together.
type logWriter struct {
	log *threadLog
	run string

	mu      sync.Mutex
	cond    *sync.Cond
	pending []runs.Event
	tasks   []runs.Task
	closed  bool
	err     error
	ended   chan struct{}
}

const maxPending = 1024 // events that may wait to be stored

func newLogWriter(ctx context.Context, l *threadLog, run string) *logWriter {
	w := &logWriter{log: l, run: run, ended: make(chan struct{})}
	w.cond = sync.NewCond(&w.mu)
	go w.loop(ctx)
	return w
}

// write adds an event. It blocks while too many events wait, and returns the error of the store.
func (w *logWriter) write(e runs.Event) error {
	e.Run = w.run
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.pending) >= maxPending && w.err == nil {
		w.cond.Wait()
	}
	w.pending = append(w.pending, e)
	w.cond.Broadcast()
	return w.err
}

// keep adds the result of a task.
func (w *logWriter) keep(t runs.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, t)
	w.cond.Broadcast()
}

func (w *logWriter) loop(ctx context.Context) {
	defer close(w.ended)
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.pending) == 0 && len(w.tasks) == 0 && !w.closed {
			w.cond.Wait()
		}
		if len(w.pending) == 0 && len(w.tasks) == 0 || w.err != nil {
			return
		}
		events, tasks := w.pending, w.tasks
		w.pending, w.tasks = nil, nil
		w.cond.Broadcast()
		w.mu.Unlock()
		err := w.store(ctx, events, tasks)
		w.mu.Lock()
		if err != nil {
			w.err = err
			w.cond.Broadcast() // a writer may have begun to wait meanwhile
		}
	}
}

func (w *logWriter) store(ctx context.Context, events []runs.Event, tasks []runs.Task) error {
	if len(tasks) > 0 {
		if err := w.log.store.PutTasks(ctx, w.log.thread, tasks); err != nil {
			return err
		}
	}
	if len(events) == 0 {
		return nil
	}
	return w.log.append(ctx, events)
}

// close stores the remaining events.
func (w *logWriter) close() error {
	w.mu.Lock()
	w.closed = true
	w.cond.Broadcast()
	w.mu.Unlock()
	<-w.ended
	return w.err
}
