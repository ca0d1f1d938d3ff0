package engine

import (
	"context"
	"sync"
	"time"
)

// An IdleWatch ends a node that gives no heartbeat for longer than a limit.
// Time in which the node waits for the reader of its events does not count.
type IdleWatch struct {
	limit time.Duration
	emits bool       // a call of Emit counts as a heartbeat
	outer *IdleWatch // the watch of the enclosing context; nil for none

	mu      sync.Mutex
	timer   *time.Timer
	since   time.Time // the time of the last heartbeat
	waiting int       // the number of calls of Emit that wait for the reader
	paused  time.Time // while calls wait: the time of the first one, or of a later heartbeat
}

type idleKey struct{}

// WatchIdle returns a context with a new watch, and a function that stops the watch.
// The watch calls expire once limit has passed without a heartbeat.
// If emits is true, a call of Emit counts as a heartbeat.
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
		w.waiting++ // neither a late heartbeat nor the end of a wait may start the timer again
		w.timer.Stop()
	}
}

// Beat gives a heartbeat to every watch around ctx.
func Beat(ctx context.Context) {
	for w := watchOf(ctx); w != nil; w = w.outer {
		w.mu.Lock()
		w.since = time.Now()
		w.paused = w.since // only the wait after this heartbeat is left out of the idle time
		if w.waiting == 0 {
			w.timer.Reset(w.limit)
		}
		w.mu.Unlock()
	}
}

// suspendIdle stops the timers of the watches around ctx until resume is called.
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
