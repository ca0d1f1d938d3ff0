package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-go/weft/server/runs"
)

// A logWriter appends the events of a run to a log. It stores events while the run is executed. The events that are
// written during a call of the store are stored together by the next call.
type logWriter struct {
	log *threadLog
	run string
	// owns is called before events are stored after those of another writer. It returns an error if another server
	// executes the run. It is nil if servers share no queue.
	owns func(context.Context) error
	last int64 // the number of the log's last event after the last append or call of owns

	mu      sync.Mutex
	cond    *sync.Cond
	pending []runs.Event
	tasks   []runs.Task
	storing bool // a goroutine stores events
	err     error
}

const (
	maxPending = 1024             // events that may wait to be stored
	storeTime  = 30 * time.Second // the time limit of an operation on the store
)

func newLogWriter(l *threadLog, run string) *logWriter {
	w := &logWriter{log: l, run: run, last: l.end()}
	w.cond = sync.NewCond(&w.mu)
	return w
}

// write adds an event. It blocks while maxPending events wait, and returns the error of the store.
func (w *logWriter) write(e runs.Event) error {
	e.Run = w.run
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.pending) >= maxPending && w.err == nil {
		w.cond.Wait()
	}
	w.pending = append(w.pending, e)
	w.begin()
	return w.err
}

// keep adds the result of a task.
func (w *logWriter) keep(t runs.Task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks = append(w.tasks, t)
	w.begin()
}

// begin starts the goroutine that stores events, unless it runs or has failed. The caller holds the lock.
func (w *logWriter) begin() {
	if !w.storing && w.err == nil {
		w.storing = true
		go w.loop()
	}
}

// loop stores events and results until none wait.
func (w *logWriter) loop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && len(w.pending)+len(w.tasks) > 0 {
		events, tasks := w.pending, w.tasks
		w.pending, w.tasks = nil, nil
		w.cond.Broadcast()
		w.mu.Unlock()
		err := w.store(events, tasks)
		w.mu.Lock()
		w.err = err
	}
	w.storing = false
	w.cond.Broadcast()
}

// store stores events and results within storeTime.
func (w *logWriter) store(events []runs.Event, tasks []runs.Task) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), storeTime, errStoreSilent)
	defer cancel()
	return safely(func() error {
		if len(tasks) > 0 {
			if err := w.log.store.PutTasks(ctx, w.log.thread, tasks); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			return nil
		}
		return w.log.appendOf(ctx, w, events)
	})
}

var errStoreSilent = errors.New("the store has not answered in time")

// close waits until the remaining events are stored.
func (w *logWriter) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.storing {
		w.cond.Wait()
	}
	return w.err
}
