package llm

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Limits are what [Limit] keeps a model to. A field that is zero sets no limit.
type Limits struct {
	// Concurrent is how many requests may be under way at once. One ends with
	// its stream.
	Concurrent int
	// PerMinute is how many requests may start within a minute. They are spread
	// over it.
	PerMinute int
	// Burst is how many may start at once after a pause. Zero means 1.
	Burst int
}

// Limit returns a model that makes requests wait until the limits let them
// through, in the order in which they came as far as the rate goes. Whoever
// waits goes when its context is done, with an error that wraps ctx.Err().
//
// All who use the model that is returned share the limits. Put it inside a
// [Retry], so that each attempt counts.
func Limit(m Model, l Limits) Model {
	limited := &limited{model: m}
	if l.Concurrent > 0 {
		limited.places = make(chan struct{}, l.Concurrent)
	}
	if l.PerMinute > 0 {
		limited.pace = &pace{every: time.Minute / time.Duration(l.PerMinute)}
		limited.pace.slack = limited.pace.every * time.Duration(max(l.Burst, 1)-1)
	}
	return limited
}

type limited struct {
	model  Model
	places chan struct{}
	pace   *pace
}

// Stream waits for its turn.
func (l *limited) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if err := cancelled(ctx, nil); err != nil {
			yield(Chunk{}, err)
			return
		}
		if l.places != nil {
			select {
			case l.places <- struct{}{}:
				defer func() { <-l.places }()
			case <-ctx.Done():
				yield(Chunk{}, cancelled(ctx, nil))
				return
			}
		}
		if l.pace != nil {
			if err := l.pace.wait(ctx); err != nil {
				yield(Chunk{}, err)
				return
			}
		}
		for chunk, err := range l.model.Stream(ctx, r) {
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// A pace spaces what starts.
type pace struct {
	every, slack time.Duration

	mu   sync.Mutex
	next time.Time // when the next one would start if there were no slack
}

func (p *pace) wait(ctx context.Context) error {
	turn, next := p.take()
	wait := time.Until(turn)
	if wait <= 0 {
		return nil
	}
	err := pause(ctx, wait)
	if err != nil {
		p.giveBack(next)
	}
	return err
}

// take returns when the caller may start, and what next is after it.
func (p *pace) take() (turn, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	turn = p.next.Add(-p.slack)
	p.next = p.next.Add(p.every)
	return turn, p.next
}

// giveBack returns a turn that was not used, if nobody has come after it.
func (p *pace) giveBack(next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Equal(next) {
		p.next = next.Add(-p.every)
	}
}
