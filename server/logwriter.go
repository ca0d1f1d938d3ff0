package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weft-go/weft/server/runs"
)

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

const (
	maxPending = 1024             // events that may wait to be stored
	storeTime  = 30 * time.Second // the most time of a call of the store that a run waits for
)

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

// store stores events and results in a limited time.
func (w *logWriter) store(ctx context.Context, events []runs.Event, tasks []runs.Task) error {
	ctx, cancel := context.WithTimeoutCause(ctx, storeTime, errStoreSilent)
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
		return w.log.append(ctx, events)
	})
}

var errStoreSilent = errors.New("the store has not answered in time")

// safely calls f, and returns its panic as an error.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
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
