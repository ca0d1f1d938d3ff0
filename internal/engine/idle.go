package engine

import (
	"context"
	"sync"
	"time"
)

// An IdleWatch ends a node that shows no sign of life for too long. The time that
// the node waits for the reader of its events does not count.
type IdleWatch struct {
	limit time.Duration
	emits bool // Emit is a sign of life
	outer *IdleWatch

	mu      sync.Mutex
	timer   *time.Timer
	since   time.Time // of the last sign of life
	waiting int       // calls of Emit that wait for the reader
	paused  time.Time // when the first of them began
}

type idleKey struct{}

// WatchIdle returns a context with a watch that calls expire, and the function that
// stops the watch.
func WatchIdle(ctx context.Context, limit time.Duration, emits bool, expire func()) (context.Context, func()) {
	w := &IdleWatch{limit: limit, emits: emits, since: time.Now()}
	w.outer, _ = ctx.Value(idleKey{}).(*IdleWatch)
	if t := TaskOf(ctx); t != nil {
		t.watched.Store(true)
	}
	w.timer = time.AfterFunc(limit, expire)
	return context.WithValue(ctx, idleKey{}, w), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting = 1 // a late sign of life does not start the timer again
		w.timer.Stop()
	}
}

// Beat is a sign of life for the watches around ctx.
func Beat(ctx context.Context) {
	for w := watchOf(ctx); w != nil; w = w.outer {
		w.mu.Lock()
		w.since = time.Now()
		if w.waiting == 0 {
			w.timer.Reset(w.limit)
		}
		w.mu.Unlock()
	}
}

// suspendIdle stops the watches around ctx while a value waits for the reader.
func suspendIdle(ctx context.Context) (resume func()) {
	first := watchOf(ctx)
	if first == nil {
		return func() {}
	}
	for w := first; w != nil; w = w.outer {
		w.suspend()
	}
	return func() {
		for w := first; w != nil; w = w.outer {
			w.resume()
		}
	}
}

func watchOf(ctx context.Context) *IdleWatch {
	w, _ := ctx.Value(idleKey{}).(*IdleWatch)
	return w
}

func (w *IdleWatch) suspend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == 0 {
		w.paused = time.Now()
		w.timer.Stop()
	}
	w.waiting++
}

func (w *IdleWatch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if w.emits {
		w.since = now
	}
	if w.waiting--; w.waiting > 0 {
		return
	}
	if !w.emits {
		w.since = w.since.Add(now.Sub(w.paused))
	}
	w.timer.Reset(max(0, w.limit-now.Sub(w.since)))
}
