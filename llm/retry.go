package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// A RetryPolicy says how [Retry] asks again. Its zero value works.
type RetryPolicy struct {
	// Attempts is how often the model is asked at most. Zero means 4.
	Attempts int
	// Initial is the longest wait before the second attempt. Zero means 500 ms.
	// It doubles with each attempt.
	Initial time.Duration
	// Max is the longest wait. Zero means 30 s. A provider that asks to wait for
	// longer is not asked again.
	Max time.Duration
	// If says which errors are worth another attempt. Nil means [Retryable].
	If func(error) bool
	// Whole holds a reply back until it is complete and checked as [Stream]
	// checks it. A reply that breaks off half-way, or makes no message, is then
	// retried too, at the price of streaming.
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

// Retry returns a model that asks m again when it fails. It waits a random time,
// of up to p.Initial before the second attempt and twice as long before each
// further one, and never less than the [Error] asks for.
//
// Once a chunk has been passed on there is no way back: whoever reads the stream
// has seen a part of an answer that another attempt would not repeat. An error
// after that is passed on as it is, unless p.Whole is set. A stream that ends
// without a chunk counts as [ErrEmpty].
//
// The last attempt's error is passed on; one of several says how many there
// were. When ctx is done while it waits, the error wraps both.
func Retry(m Model, p RetryPolicy) Model {
	p = p.withDefaults()
	if p.Whole {
		m = whole{m}
	}
	return ModelFunc(func(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
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
	})
}

// wait returns how long to wait after an attempt, or false when the provider
// asks for too long.
func (p RetryPolicy) wait(attempt int, err error) (time.Duration, bool) {
	ceiling := p.Initial
	for range attempt - 1 {
		ceiling = min(2*ceiling, p.Max)
	}
	jitter := rand.N(min(ceiling, p.Max) + 1)
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		// A little more, lest all who were refused come back at once.
		return e.RetryAfter + jitter/4, e.RetryAfter <= p.Max
	}
	return jitter, true
}

// relay passes chunks on until the first error, which it returns, and reports
// whether any chunk was. When yield wants no more it returns no error.
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

// pause waits, and returns why ctx is done if that is sooner.
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

// whole passes a reply on when it is complete, and then in the pieces in which
// it came.
type whole struct{ Model }

// Stream passes the reply on when it is complete.
func (w whole) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		var chunks []Chunk
		var reply Message
		for chunk, err := range Stream(ctx, w.Model, r, &reply) {
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
