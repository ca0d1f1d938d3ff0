package learn

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// patience is how long an attempt that is over may take to return. What does not, as it does not look at
	// its context, goes on by itself, and the job is tried again.
	patience = 2 * time.Second
	// crashes is how many times as often as it may be tried a job may be begun, and fewest how often at least:
	// then it is held to end the process each time. What was refused, or cut off by the end of the program, is begun
	// again too, but not for so long.
	crashes = 4
	fewest  = 20
)

var (
	// errPoison marks what can not become better.
	errPoison = errors.New("can not be learned")
	errStuck  = errors.New("the extractor or decider does not return, though its time is over")
	errEnded  = errors.New("the extractor or decider ended its goroutine")
)

// attempt tries a job once, and returns how many facts that brought.
func (l *Learner) attempt(ctx context.Context, j Job) (facts int, err error) {
	if begun := j.Attempts - 1; begun >= max(crashes*l.options.Attempts, fewest) {
		return 0, fmt.Errorf("it was begun %d times, and never ended: %w", begun, errPoison)
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	type outcome struct {
		facts int
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errEnded}
		defer func() { done <- o }()
		o.facts, o.err = l.learn(ctx, j)
	}()
	select {
	case o := <-done:
		return o.facts, o.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.facts, o.err
	case <-timer.C:
		return 0, fmt.Errorf("%w: %w", errStuck, context.Cause(ctx))
	}
}
