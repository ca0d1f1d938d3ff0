package llm

import (
	"context"
	"iter"
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
// waits goes when its context is done, with an error that wraps ctx.Err(), and
// then counts for nothing.
//
// All who use the model that is returned share the limits. Put it inside a
// [Retry], so that each attempt counts.
func Limit(m Model, l Limits) Model {
	limited := &limited{model: m}
	if l.Concurrent > 0 {
		limited.places = make(chan struct{}, l.Concurrent)
	}
	if l.PerMinute > 0 {
		limited.pace = newPace(l)
	}
	return limited
}

type limited struct {
	model  Model
	places chan struct{}
	pace   *pace
}

func (l *limited) unwrap() Model { return l.model }

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
		for chunk, err := range streamOf(ctx, l.model, r) {
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// A pace spaces what starts.
type pace struct {
	every, slack time.Duration

	// turn is held by the one that is next. Only it waits for the time, so that
	// whoever gives up has taken nothing from those who come after.
	turn chan struct{}
	next time.Time // when the next one would start if there were no slack
}

func newPace(l Limits) *pace {
	every := time.Minute / time.Duration(l.PerMinute)
	return &pace{
		every: every,
		slack: every * time.Duration(max(l.Burst, 1)-1),
		turn:  make(chan struct{}, 1),
	}
}

func (p *pace) wait(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return cancelled(ctx, nil)
	}
	if wait := time.Until(p.next.Add(-p.slack)); wait > 0 {
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(p.every)
	return nil
}
