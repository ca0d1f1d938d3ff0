package engine

import (
	"context"
	"errors"
	"sync"
)

// errConsumerLeft ends a run whose events nobody reads any more.
var errConsumerLeft = errors.New("the reader of the events left")

// maxAhead is how many of its own events the goroutine of a run may be ahead of
// their reader.
const maxAhead = 64

// A Stream carries the events of a run to one consumer, through one channel.
//
// The goroutine of the run collects its events with add and offers them before it
// runs a node. The consumer takes all that are pending at once. Other goroutines
// deliver theirs with send. A slow consumer slows the run, so memory does not grow.
// A nil Stream drops everything.
type Stream struct {
	// newEvent makes an event that users see.
	newEvent func(Event) any
	// deliveries carries events, the Stream itself for those that are pending, and
	// nil for the end. Its buffer has room for one delivery.
	deliveries chan any
	left       chan struct{} // closed when the consumer stops reading

	mu      sync.Mutex
	pending []Event       // added after all events that were sent
	offered bool          // a delivery for the pending events is under way
	taken   chan struct{} // closed when they are taken; nil if nobody waits for that
}

func newStream(newEvent func(Event) any) *Stream {
	return &Stream{newEvent: newEvent, deliveries: make(chan any, 1), left: make(chan struct{})}
}

// add collects an event of the run's own goroutine.
func (s *Stream) add(e Event) {
	if s != nil {
		s.mu.Lock()
		s.pending = append(s.pending, e)
		s.mu.Unlock()
	}
}

// send delivers an event of any goroutine, and waits until the consumer takes it or
// takes it next. It gives up when ctx ends.
func (s *Stream) send(ctx context.Context, e Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	if len(s.pending) > 0 { // these come first, and were offered
		s.pending = append(s.pending, e)
		s.waitAndUnlock(ctx)
		return
	}
	s.mu.Unlock()
	s.deliver(ctx, s.newEvent(e))
}

// offer tells the consumer that events are pending, and waits for it if they are more
// than limit. If ctx ends first, the next offer delivers them.
func (s *Stream) offer(ctx context.Context, limit int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	if len(s.pending) > 0 && !s.offered {
		s.offered = true
		s.mu.Unlock()
		delivered := s.deliver(ctx, s)
		s.mu.Lock()
		s.offered = s.offered && delivered
	}
	if len(s.pending) > limit {
		s.waitAndUnlock(ctx)
		return
	}
	s.mu.Unlock()
}

// waitAndUnlock waits until the consumer takes the pending events, or ctx ends.
func (s *Stream) waitAndUnlock(ctx context.Context) {
	if s.taken == nil {
		s.taken = make(chan struct{})
	}
	taken := s.taken
	s.mu.Unlock()
	select {
	case <-taken:
	case <-s.left:
	case <-ctx.Done():
	}
}

// take returns the pending events. It uses the memory of the events before.
func (s *Stream) take(before []Event) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := s.pending
	s.pending, s.offered = before[:0], false
	if s.taken != nil {
		close(s.taken)
		s.taken = nil
	}
	return pending
}

// deliver reports false if ctx ended before the consumer took the delivery.
func (s *Stream) deliver(ctx context.Context, d any) bool {
	select { // a consumer that waits is the common case, and needs no look at the rest
	case s.deliveries <- d:
		return true
	default:
	}
	select {
	case s.deliveries <- d:
	case <-s.left:
	case <-ctx.Done():
		return false
	}
	return true
}

// first changes the first event that was added and was not offered yet.
func (s *Stream) first(e Event) {
	if s != nil {
		s.pending[0] = e
	}
}

// drop forgets the events that were added and are not delivered yet.
func (s *Stream) drop() {
	if s != nil {
		s.pending = nil
	}
}

// Consume runs a graph in another goroutine and calls yield with its events, as
// newEvent makes them, until yield returns false or the run has ended. It then cancels
// the run, waits for it and returns its error. A run that was abandoned returns none.
func Consume(ctx context.Context, run func(context.Context, *Stream) error, newEvent func(Event) any, yield func(any) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := newStream(newEvent)
	err := errors.New("the goroutine of the run was ended from within, by runtime.Goexit")
	var done sync.WaitGroup
	done.Go(func() {
		defer s.deliver(context.Background(), nil)
		err = run(ctx, s)
	})
	defer func() { // also when yield panics
		cancel(errConsumerLeft)
		close(s.left)
		done.Wait()
	}()
	var taken []Event
	for {
		switch d := (<-s.deliveries).(type) {
		case nil:
			return err
		case *Stream:
			taken = s.take(taken)
			for i := range taken {
				if !yield(newEvent(taken[i])) {
					return nil
				}
			}
			clear(taken)
		default:
			if !yield(d) {
				return nil
			}
		}
	}
}
