package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// A RetryPolicy configures [Retry]. The zero value makes at most three attempts.
type RetryPolicy struct {
	// Attempts is the maximum number of runs of the node, including the first. Zero
	// means 3.
	Attempts int
	// Initial is the wait before the second attempt. Zero means half a second; a negative
	// value means no wait. Factor multiplies the wait after each attempt. Zero means 2.
	Initial time.Duration
	Factor  float64
	// Max is the maximum wait. Zero means 128 seconds.
	Max time.Duration
	// NoJitter makes each wait exactly as long as Initial, Factor and Max say. Without NoJitter,
	// each wait is a random part of this time, at least half of it.
	NoJitter bool
	// If reports whether to retry after an error. Nil means after every error except a
	// panic.
	If func(error) bool
}

// Retry runs a node again when it fails, unless the run's context has ended. A pause is not a
// failure. A subgraph that ends because the run was drained has not failed either. The updates of
// failed attempts are dropped, and results of graph.Once are kept.
func Retry(p RetryPolicy, fn graph.NodeFunc) graph.NodeFunc {
	if fn == nil {
		return nil
	}
	p = p.withDefaults()
	return func(ctx context.Context, s state.View) (state.Update, error) {
		wait := min(p.Initial, p.Max)
		for attempt := 1; ; attempt++ {
			update, err := engine.Protect(engine.Func(fn))(engine.WithAttempt(ctx, attempt), s)
			if err == nil || engine.AskedIn(ctx) || graph.IsPause(err) || engine.DrainedIn(ctx, err) {
				return update, err
			}
			if attempt >= p.Attempts || ctx.Err() != nil || !p.If(err) {
				return nil, &engine.AttemptError{Attempt: attempt, Err: err}
			}
			if t := engine.TaskOf(ctx); t != nil {
				t.Retrying(ctx, attempt, err)
			}
			if !sleep(ctx, p.jitter(wait)) {
				return nil, &engine.AttemptError{Attempt: attempt, Err: errors.Join(context.Cause(ctx), err)}
			}
			wait = min(time.Duration(float64(wait)*p.Factor), p.Max)
			if t := engine.TaskOf(ctx); t != nil {
				t.ForgetQuestions()
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
			_, panicked := errors.AsType[*graph.PanicError](err)
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

// sleep waits for d or the end of ctx, and reports whether ctx has not ended.
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
