package tools

import (
	"context"
	"fmt"
	"time"
)

// A RetryPolicy configures [WithRetry]. The zero value is valid.
type RetryPolicy struct {
	// Attempts is the maximum number of attempts. Zero means 3.
	Attempts int
	// Initial is the wait before the second attempt. It doubles with each attempt. Zero means
	// 500 ms.
	Initial time.Duration
	// Max is the longest wait. Zero means 10 s.
	Max time.Duration
	// If reports whether to try again after an error of the tool. Nil means after every error.
	If func(error) bool
}

type retryKey struct{}

// WithRetry returns a context in which a failed tool is retried. Options.Timeout limits each
// attempt. A tool is not retried if it waits for a person, or if its context has ended. If
// the tool still fails after several attempts, the error has their number.
//
// Use it for tools that may run more than once. The keys of graph.Once and
// graph.IdempotencyKey are the same in each attempt.
func WithRetry(ctx context.Context, p RetryPolicy) context.Context {
	if p.Attempts <= 0 {
		p.Attempts = 3
	}
	if p.Initial <= 0 {
		p.Initial = 500 * time.Millisecond
	}
	if p.Max <= 0 {
		p.Max = 10 * time.Second
	}
	return context.WithValue(ctx, retryKey{}, p)
}

// tried runs the tool until it succeeds, or until the policy, a pause or the end of ctx rules out another attempt.
func (e *callRun) tried(ctx context.Context) (Result, error) {
	p, _ := ctx.Value(retryKey{}).(RetryPolicy)
	wait := p.Initial
	for attempt := 1; ; attempt++ {
		result, err := e.timed(ctx)
		if err == nil || ctx.Err() != nil || pauses(err) {
			return result, err
		}
		if attempt >= p.Attempts || p.If != nil && !p.If(err) {
			if attempt > 1 {
				err = fmt.Errorf("attempt %d: %w", attempt, err)
			}
			return result, err
		}
		select {
		case <-time.After(min(wait, p.Max)):
		case <-ctx.Done():
			return result, err
		}
		wait *= 2
	}
}
