package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// A RetryPolicy has the settings of [Retry]. The zero value is ready to use.
type RetryPolicy struct {
	// Attempts is the largest number of attempts. Zero means 4.
	Attempts int
	// Initial is the longest wait before the second attempt. Zero means 500 ms.
	// It doubles with each attempt.
	Initial time.Duration
	// Max is the longest wait. Zero means 30 s. If a provider requests a longer wait,
	// Retry returns its error.
	Max time.Duration
	// If reports whether to try again after an error. Nil means [Retryable].
	If func(error) bool
	// Whole withholds a reply until it is complete and has passed the checks of [Stream].
	// Retry then also tries again after a reply that breaks off or is malformed, but does
	// not stream.
	Whole bool
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.Attempts <= 0 {
		p.Attempts = 4
	}
	if p.Initial <= 0 {
		p.Initial = 500 * time.Millisecond
	}
	if p.Max <= 0 {
		p.Max = 30 * time.Second
	}
	if p.If == nil {
		p.If = Retryable
	}
	return p
}

// Retry returns a model that asks m again if a request fails. It waits for a random time: at
// most p.Initial before the second attempt, twice that before the third, and so on. The
// wait is never shorter than [Error.RetryAfter].
//
// After Retry has passed on a chunk it does not try again, and returns the error, because
// another attempt would not repeat the text that the reader has seen. With p.Whole it
// passes on no chunk before the reply is complete. A stream that ends without a chunk
// fails with [ErrEmpty].
//
// Retry returns the error of the last attempt, with the number of attempts. If ctx is
// done during a wait, the error also wraps the error of ctx.
func Retry(m Model, p RetryPolicy) Model {
	p = p.withDefaults()
	if p.Whole {
		m = whole{m}
	}
	return wrapper{inner: m, ModelFunc: func(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
		return func(yield func(Chunk, error) bool) {
			for attempt := 1; ; attempt++ {
				passed, err := relay(streamOf(ctx, m, r), yield)
				if err == nil {
					return
				}
				if attempt > 1 {
					err = fmt.Errorf("llm: attempt %d: %w", attempt, err)
				}
				if passed || attempt == p.Attempts || ctx.Err() != nil || !p.If(err) {
					yield(Chunk{}, err)
					return
				}
				wait, ok := p.wait(attempt, err)
				if !ok {
					yield(Chunk{}, err)
					return
				}
				if cause := pause(ctx, wait); cause != nil {
					yield(Chunk{}, fmt.Errorf("%w: %w", cause, err))
					return
				}
			}
		}
	}}
}

// wait returns the wait after an attempt. It reports false if the provider requests a
// longer wait than p.Max.
func (p RetryPolicy) wait(attempt int, err error) (time.Duration, bool) {
	ceiling := p.Initial
	for range attempt - 1 {
		ceiling = min(2*ceiling, p.Max)
	}
	jitter := rand.N(min(ceiling, p.Max) + 1)
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		// Add a random time, so that the rejected callers do not all return at once.
		return e.RetryAfter + jitter/4, e.RetryAfter <= p.Max
	}
	return jitter, true
}

// relay passes chunks on until the first error, which it returns. It reports whether
// it passed on any chunk. If yield returns false, relay returns no error.
func relay(chunks iter.Seq2[Chunk, error], yield func(Chunk, error) bool) (passed bool, err error) {
	for chunk, err := range chunks {
		if err != nil {
			return passed, err
		}
		passed = true
		if !yield(chunk, nil) {
			return true, nil
		}
	}
	if !passed {
		return false, fmt.Errorf("llm: the stream ended: %w", ErrEmpty)
	}
	return true, nil
}

// pause waits for d, or until ctx is done, and then returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return cancelled(ctx, nil)
	}
}

// whole passes on the chunks of a reply when the reply is complete.
type whole struct{ Model }

func (w whole) unwrap() Model { return w.Model }

// Stream implements [Model].
func (w whole) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		var chunks []Chunk
		var reply Message
		for chunk, err := range stream(ctx, w.Model, r, &reply) {
			if err != nil {
				yield(Chunk{}, err)
				return
			}
			chunks = append(chunks, chunk)
		}
		for _, chunk := range chunks {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}
