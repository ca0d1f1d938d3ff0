package llm

import (
	"context"
	"iter"
	"time"
)

// Limits are the limits of [Limit]. If Concurrent or PerMinute is zero, it sets no limit.
type Limits struct {
	// Concurrent is the maximum number of requests at the same time. A request ends when its
	// stream ends.
	Concurrent int
	// PerMinute is the number of requests that may start per minute, at even intervals.
	PerMinute int
	// Burst is the number of requests that may start at once after a pause, if PerMinute is
	// set. Zero means 1.
	Burst int
}

// Limit returns a model that delays each request to m until the limits permit it. Requests
// that PerMinute delays start in the order in which they began to wait. If ctx is done during
// the wait, the error wraps ctx.Err(), and the request does not count.
//
// All users of the returned model share its limits. Put it inside a [Retry], so that each
// attempt counts.
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

// Stream implements [Model].
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

// A pace delays requests, so that they start at even intervals.
type pace struct {
	every time.Duration // the interval
	slack time.Duration // a request may start this much before next

	// turn has an element while one request waits for its start. Other requests wait to send
	// to turn, so a request whose context ends does not delay them.
	turn chan struct{}
	next time.Time // the start of the next request, without slack
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
