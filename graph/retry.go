package graph

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/weft-go/weft/state"
)

// RetryPolicy says how [Retry] repeats a node. Its zero value tries three
// times.
type RetryPolicy struct {
	// Attempts is the most runs of the node, the first included. Zero means 3.
	Attempts int
	// Initial is the wait before the second attempt; each further one is Factor
	// times as long, up to Max. Zero means half a second, 2 and 128 seconds. A
	// negative Initial waits not at all.
	Initial, Max time.Duration
	Factor       float64
	// NoJitter keeps the waits exact. Otherwise each is a random part of it,
	// at least half.
	NoJitter bool
	// If reports whether an error is worth another attempt. Nil means every
	// error but a panic and the end of the run's context.
	If func(error) bool
}

// Retry runs a node again when it fails. A pause is not a failure. What the
// failed attempts returned is dropped; what they remembered by [Once] stays.
func Retry(p RetryPolicy, fn NodeFunc) NodeFunc {
	if fn == nil {
		return nil
	}
	p = p.withDefaults()
	return func(ctx context.Context, s state.View) (state.Update, error) {
		wait := p.Initial
		for attempt := 1; ; attempt++ {
			update, err := fn(context.WithValue(ctx, attemptKey{}, attempt), s)
			if err == nil || asked(ctx) || IsPause(err) {
				return update, err
			}
			if attempt >= p.Attempts || ctx.Err() != nil || !p.If(err) {
				return nil, &attemptError{attempt, err}
			}
			if !sleep(ctx, p.jitter(wait)) {
				return nil, &attemptError{attempt, errors.Join(context.Cause(ctx), err)}
			}
			wait = min(time.Duration(float64(wait)*p.Factor), p.Max)
			if t := taskOf(ctx); t != nil {
				t.again()
			}
		}
	}
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Attempts == 0 {
		p.Attempts = 3
	}
	if p.Initial == 0 {
		p.Initial = 500 * time.Millisecond
	}
	if p.Max == 0 {
		p.Max = 128 * time.Second
	}
	if p.Factor == 0 {
		p.Factor = 2
	}
	if p.If == nil {
		p.If = func(err error) bool {
			_, panicked := errors.AsType[*PanicError](err)
			return !panicked
		}
	}
	return p
}

func (p RetryPolicy) jitter(wait time.Duration) time.Duration {
	if p.NoJitter || wait <= 1 {
		return wait
	}
	return wait/2 + rand.N(wait/2)
}

// sleep waits, and reports whether ctx is still good.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// asked reports whether the task of ctx has a question open, whatever its node
// made of the error.
func asked(ctx context.Context) bool {
	t := taskOf(ctx)
	if t == nil {
		return false
	}
	open, _ := t.leavings()
	return open != nil
}

type attemptKey struct{}

func attemptOf(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}

// attemptError carries the number of attempts to the task.
type attemptError struct {
	attempt int
	err     error
}

// withoutAttempt returns the error that Retry wrapped, if it is the outermost.
func withoutAttempt(err error) error {
	if ae, ok := err.(*attemptError); ok { //nolint:errorlint // only the outermost is meant
		return ae.err
	}
	return err
}

func (e *attemptError) Error() string { return e.err.Error() }
func (e *attemptError) Unwrap() error { return e.err }
