package graph

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// A Broadcast gives the events of one run to any number of readers, each from the
// event that it names. The run does not wait for readers and outlives them:
//
//	b := graph.NewBroadcast(0)
//	go b.Run(thread.Stream(ctx, input)) // ends with the run; cancel ctx to stop it
//	for e, err := range b.Events(requestCtx, 0) { … }
//
// It keeps the newest events only, so its memory is bounded. All methods are safe
// for concurrent use.
type Broadcast struct {
	limit int

	mu      sync.Mutex
	events  []Event // a ring; event n is at n modulo the limit
	next    int     // the number of the next event
	ended   bool
	err     error
	changed chan struct{} // closed, and replaced, when an event or the end arrives
}

// A NumberedEvent is an event with its number in the run, counted from 0. A reader
// that comes back asks for the number after the last one it has seen.
type NumberedEvent struct {
	Number int
	Event  Event
}

// NewBroadcast returns a broadcast without events, which keeps as many events as the
// buffer has room for. Zero means 4,096.
func NewBroadcast(buffer int) *Broadcast {
	if buffer <= 0 {
		buffer = 4096
	}
	return &Broadcast{limit: buffer, changed: make(chan struct{})}
}

// Run reads the events of a run, from [Thread.Stream] or [Graph.Stream], until it
// ends, and returns its error. It is called once.
func (b *Broadcast) Run(events iter.Seq2[Event, error]) (err error) {
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended, b.err = true, err
		b.wake()
	}()
	for e, err := range events {
		if err != nil {
			return err
		}
		b.add(e)
	}
	return nil
}

func (b *Broadcast) add(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.events) < b.limit {
		b.events = append(b.events, e)
	} else {
		b.events[b.next%b.limit] = e
	}
	b.next++
	b.wake()
}

// wake tells the readers that something changed. The lock is held.
func (b *Broadcast) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Events yields the events from number from on, waits for more, and ends with the
// run: then the error of the run, if it had one, is the last pair. So is an
// [ErrMissed], and the cause of the end of ctx.
func (b *Broadcast) Events(ctx context.Context, from int) iter.Seq2[NumberedEvent, error] {
	return func(yield func(NumberedEvent, error) bool) {
		for n := from; ; {
			batch, changed, err := b.read(n)
			if err != nil {
				yield(NumberedEvent{Number: n}, err)
				return
			}
			for _, e := range batch {
				if !yield(NumberedEvent{Number: n, Event: e}, nil) {
					return
				}
				n++
			}
			if len(batch) > 0 {
				continue
			}
			if changed == nil {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(NumberedEvent{Number: n}, context.Cause(ctx))
				return
			}
		}
	}
}

// maxBatch bounds the events that a reader copies while it holds the lock.
const maxBatch = 64

// read returns events from number n on. If there are none yet, it returns a channel
// that is closed when that changes; it is nil once the run has ended.
func (b *Broadcast) read(n int) (batch []Event, changed <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest := b.next - len(b.events)
	switch {
	case n < oldest:
		return nil, nil, fmt.Errorf("%w: event %d is no longer kept, and the oldest that is kept has number %d; a larger buffer keeps more", ErrMissed, n, oldest)
	case n < b.next:
		for i := n; i < b.next && len(batch) < maxBatch; i++ {
			batch = append(batch, b.events[i%b.limit])
		}
		return batch, nil, nil
	case b.ended:
		return nil, nil, b.err
	}
	return nil, b.changed, nil
}
