package extract

import (
	"context"
	"fmt"
	"time"
)

// Work learns turns from the queue until the context ends, and returns the error of the
// context. It also learns turns that other processes enqueued. It waits for its workers,
// but abandons an extractor, verifier or decider that does not return within two seconds.
// Several goroutines and processes may work on one queue.
func (l *Learner) Work(ctx context.Context) error {
	w := newWorkers(l.options.Workers)
	defer w.busy.Wait()
	for ctx.Err() == nil {
		more, err := l.dispatch(ctx, w)
		if err != nil && ctx.Err() == nil {
			l.log.WarnContext(ctx, "the queue does not answer", "error", err)
		}
		l.wait(ctx, w, l.options.Poll, more)
	}
	return ctx.Err()
}

// Drain learns all turns in the queue, including those that wait for another attempt. It
// returns nil once only parked turns are left. [Options.Logger] gets their errors, and
// [Stats.Parked] counts them. If the context ends first, it returns the context's error, and the
// other turns stay in the queue. Like Work, it abandons calls that do not return.
func (l *Learner) Drain(ctx context.Context) error {
	w := newWorkers(l.options.Workers)
	defer w.busy.Wait()
	for {
		more, err := l.dispatch(ctx, w)
		if err == nil && !more && w.allIdle() {
			var n Counts
			if n, err = l.options.Queue.Count(ctx); err == nil && n.Pending == 0 && l.backlog() == 0 {
				return nil
			}
		}
		l.wait(ctx, w, min(l.options.Delay, time.Second)/4, more)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("extract: drain: %w", err)
		}
	}
}

// wait returns when there may be work, and at the latest after the given time. If more jobs
// are due and all workers are busy, it only waits for an idle worker.
func (l *Learner) wait(ctx context.Context, w *workers, longest time.Duration, more bool) {
	if more {
		select {
		case <-ctx.Done():
		case <-w.idle:
		}
		return
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-l.wake:
	case <-w.idle:
	case <-timer.C:
	}
}

// dispatch claims a job for each idle worker. It reports whether more jobs may be due.
func (l *Learner) dispatch(ctx context.Context, w *workers) (more bool, err error) {
	l.flush(ctx)
	free := len(w.free)
	if free == 0 {
		return true, nil
	}
	jobs, err := l.options.Queue.Claim(ctx, free, l.options.Timeout+grace+claimSpare)
	if err != nil {
		return false, err
	}
	for _, j := range jobs {
		w.run(func() { l.do(ctx, j) })
	}
	return len(jobs) == free, nil
}
