package llm

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"
)

// Limits are the settings of [Limit]. A zero Concurrent or PerMinute sets no limit. No field may be negative.
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
// the wait, the error wraps ctx.Err() and names the limit, and the request does not count. With a
// negative limit, each request fails with [ErrInvalid].
//
// All users of the returned model share its limits. Put it inside a [Retry], so that each
// attempt counts.
func Limit(m Model, l Limits) Model {
	limited := &limited{model: m, limits: l}
	if l.Concurrent > 0 {
		limited.places = make(chan struct{}, l.Concurrent)
	}
	if l.PerMinute > 0 {
		limited.pace = newPace(l)
	}
	return limited
}

func (l Limits) check() error {
	if l.Concurrent < 0 || l.PerMinute < 0 || l.Burst < 0 {
		return fmt.Errorf("llm: limits %+v: a number is negative: %w", l, ErrInvalid)
	}
	return nil
}

type limited struct {
	model  Model
	limits Limits
	places chan struct{}
	pace   *pace
}

func (l *limited) unwrap() Model { return l.model }

// Stream implements [Model].
func (l *limited) Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		if err := cmp.Or(l.limits.check(), cancelled(ctx, nil)); err != nil {
			yield(Chunk{}, err)
			return
		}
		if l.places != nil {
			select {
			case l.places <- struct{}{}:
				defer func() { <-l.places }()
			case <-ctx.Done():
				yield(Chunk{}, cancelled(ctx, fmt.Errorf("the request waited for its start: Limits.Concurrent is %d", l.limits.Concurrent)))
				return
			}
		}
		if l.pace != nil && !l.pace.wait(ctx) {
			yield(Chunk{}, cancelled(ctx, fmt.Errorf("the request waited for its start: Limits.PerMinute is %d", l.limits.PerMinute)))
			return
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

// wait waits until a request may start. It reports false if the context ended first.
func (p *pace) wait(ctx context.Context) bool {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return false
	}
	if wait := time.Until(p.next.Add(-p.slack)); wait > 0 {
		if pause(ctx, wait) != nil {
			return false
		}
	}
	if now := time.Now(); p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(p.every)
	return true
}
