package extract

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/memory"
)

func (l *Learner) take(ctx context.Context, j Job) error {
	err := l.enqueue(context.WithoutCancel(ctx), j)
	if err == nil || hopeless(err) {
		return err
	}
	l.failed.Add(1)
	l.log.WarnContext(ctx, "a turn waits in the process, as the queue did not take it", "key", j.Key, "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxWaiting {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	l.waiting = append(l.waiting, j)
	return nil
}

func (l *Learner) enqueue(ctx context.Context, j Job) error {
	ctx, cancel := context.WithTimeout(ctx, enqueueTimeout)
	defer cancel()
	return l.options.Queue.Enqueue(ctx, j)
}

// flushes is how many turns a round gives up to hand over, so that none keeps the others waiting.
const flushes = 3

// flush gives the queue what waits in the process. What the queue will never take is dropped, and what it does
// not take now goes behind the others.
func (l *Learner) flush(ctx context.Context) {
	failed := 0
	for range l.backlog() {
		j, ok := l.first()
		if !ok || failed == flushes || ctx.Err() != nil {
			return
		}
		err := l.enqueue(ctx, j)
		l.mu.Lock()
		if len(l.waiting) > 0 && l.waiting[0].Key == j.Key && l.waiting[0].Scope == j.Scope {
			l.waiting = l.waiting[1:]
			if err != nil && !hopeless(err) {
				l.waiting = append(l.waiting, j)
			}
		}
		l.mu.Unlock()
		switch {
		case err == nil:
		case hopeless(err):
			l.failed.Add(1)
			l.parked.Add(1)
			l.log.ErrorContext(ctx, "a turn was given up, as the queue does not take it", "key", j.Key, "error", err)
		default:
			failed++
			l.log.WarnContext(ctx, "a turn still waits in the process", "key", j.Key, "error", err)
		}
	}
}

// hopeless reports whether a queue will never take what it did not take for this.
func hopeless(err error) bool {
	return errors.Is(err, memory.ErrInvalid) || errors.Is(err, memory.ErrDenied)
}

// first returns the turn that waits in the process for longest.
func (l *Learner) first() (Job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return Job{}, false
	}
	return l.waiting[0], true
}

func (l *Learner) backlog() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
