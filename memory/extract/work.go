package extract

import (
	"context"
	"fmt"
	"time"
)

// Work learns turns as they come, also those that other processes put into the queue,
// until the context ends, and returns its error. It returns when all that it began has
// ended, but for an extractor or decider that does not end with its context: after two seconds it is left
// behind. Any number of processes may do so.
func (l *Learner) Work(ctx context.Context) error {
	c := newCrew(l.options.Workers)
	defer c.busy.Wait()
	for ctx.Err() == nil {
		more, err := l.round(ctx, c)
		if err != nil && ctx.Err() == nil { // else that is no failure of the queue
			l.log.WarnContext(ctx, "the queue does not answer", "error", err)
		}
		l.rest(ctx, c, l.options.Poll, more)
	}
	return ctx.Err()
}

// Drain learns what is in the queue, also what was tried before and waits, until nothing is
// left but parked jobs, or the context ends, whose error it returns then. What is left stays
// in a durable queue. Like Work it leaves behind what does not end.
func (l *Learner) Drain(ctx context.Context) error {
	c := newCrew(l.options.Workers)
	defer c.busy.Wait()
	for {
		more, err := l.round(ctx, c)
		if err == nil && !more && c.rests() {
			var n Counts
			if n, err = l.options.Queue.Count(ctx); err == nil && n.Pending == 0 && l.backlog() == 0 {
				return nil
			}
		}
		l.rest(ctx, c, min(l.options.Delay, time.Second)/4, more)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("extract: drain: %w", err)
		}
	}
}

// rest waits until there may be something to do: for no longer than so long, unless more is due and all
// workers have work.
func (l *Learner) rest(ctx context.Context, c *crew, wait time.Duration, more bool) {
	if more {
		select {
		case <-ctx.Done():
		case <-c.idle:
		}
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-l.wake:
	case <-c.idle:
	case <-timer.C:
	}
}

// round sets those who are free to work on what is due, and reports whether more may be.
func (l *Learner) round(ctx context.Context, c *crew) (more bool, err error) {
	l.flush(ctx)
	free := len(c.free)
	if free == 0 {
		return true, nil
	}
	jobs, err := l.options.Queue.Claim(ctx, free, l.options.Timeout+patience+claimSpare)
	if err != nil {
		return false, err
	}
	for _, j := range jobs {
		c.set(func() { l.do(ctx, j) })
	}
	return len(jobs) == free, nil
}
