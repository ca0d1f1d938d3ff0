package extract

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/memory"
)

// enqueue adds a job to the queue. If the queue fails, the job waits in the process.
func (l *Learner) enqueue(ctx context.Context, j Job) error {
	err := l.tryEnqueue(context.WithoutCancel(ctx), j)
	if err == nil || isPermanent(err) {
		return err
	}
	l.failed.Add(1)
	l.log.WarnContext(ctx, "the queue did not accept a turn, which waits in the process", "key", j.Key, "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxWaiting {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	l.waiting = append(l.waiting, j)
	return nil
}

func (l *Learner) tryEnqueue(ctx context.Context, j Job) error {
	ctx, cancel := context.WithTimeout(ctx, enqueueTimeout)
	defer cancel()
	return l.options.Queue.Enqueue(ctx, j)
}

// maxFlushFailures is the number of jobs that may fail in one flush, so that a queue that
// does not answer delays the caller only for a few timeouts.
const maxFlushFailures = 3

// flush adds the waiting jobs to the queue. A job that the queue will never accept is
// dropped. A job that fails goes to the end, so that it does not block the others.
func (l *Learner) flush(ctx context.Context) {
	failed := 0
	for range l.backlog() {
		j, ok := l.first()
		if !ok || failed == maxFlushFailures || ctx.Err() != nil {
			return
		}
		err := l.tryEnqueue(ctx, j)
		l.mu.Lock()
		if len(l.waiting) > 0 && l.waiting[0].Key == j.Key && l.waiting[0].Scope == j.Scope {
			l.waiting = l.waiting[1:]
			if err != nil && !isPermanent(err) {
				l.waiting = append(l.waiting, j)
			}
		}
		l.mu.Unlock()
		switch {
		case err == nil:
		case isPermanent(err):
			l.failed.Add(1)
			l.parked.Add(1)
			l.log.ErrorContext(ctx, "a turn is dropped, as the queue rejects it", "key", j.Key, "error", err)
		default:
			failed++
			l.log.WarnContext(ctx, "a turn still waits in the process", "key", j.Key, "error", err)
		}
	}
}

// isPermanent reports whether the queue will reject the same job again after this error.
func isPermanent(err error) bool {
	return errors.Is(err, memory.ErrInvalid) || errors.Is(err, memory.ErrDenied)
}

// first returns the first waiting job.
func (l *Learner) first() (Job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return Job{}, false
	}
	return l.waiting[0], true
}

// backlog returns the number of jobs that wait in the process.
func (l *Learner) backlog() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
