package engine

import (
	"context"
	"errors"
	"sync"
)

// errConsumerLeft cancels a run after the consumer of its events has stopped reading.
var errConsumerLeft = errors.New("the reader of the events left")

// maxAhead is the number of events that the goroutine of a run may collect
// before it waits for the consumer.
const maxAhead = 64

// A Stream carries the events of a run to one consumer.
// A nil Stream drops all events.
//
// The goroutine of the run collects its events with add, without waiting.
// It offers them to the consumer with offer before it runs a node.
// The consumer then takes all collected events at once.
// Other goroutines deliver each event with send, after the offered events.
// A slow consumer makes the run wait, so the memory for events is bounded.
type Stream struct {
	// newEvent converts an event to the type that users see.
	newEvent func(*Event) any
	// deliveries carries single events, converted by newEvent.
	// A delivery of the Stream itself tells the consumer to take the pending events.
	// A nil delivery means the end. The buffer has room for one delivery.
	deliveries chan any
	abandoned  chan struct{} // closed when the consumer stops reading

	mu      sync.Mutex
	pending []Event       // collected events, which follow all delivered events
	offered bool          // the consumer was told to take the pending events
	taken   chan struct{} // closed when they are taken; nil if no goroutine waits
}

func newStream(newEvent func(*Event) any) *Stream {
	return &Stream{newEvent: newEvent, deliveries: make(chan any, 1), abandoned: make(chan struct{})}
}

// add collects an event. Only the goroutine of the run calls it.
func (s *Stream) add(e *Event) {
	s.mu.Lock()
	s.pending = append(s.pending, *e)
	s.mu.Unlock()
}

// send delivers an event and may be called by any goroutine.
// It returns when the consumer has the event or receives it next, or when ctx ends.
func (s *Stream) send(ctx context.Context, e Event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	if len(s.pending) > 0 { // the pending events were offered and come first
		s.pending = append(s.pending, e)
		s.waitAndUnlock(ctx)
		return
	}
	s.mu.Unlock()
	s.deliver(ctx, s.newEvent(&e))
}

// sendConverted delivers an event of the type that users see, after the pending events.
// If ctx ends before, it drops the event; send keeps an event in this case.
func (s *Stream) sendConverted(ctx context.Context, event any) {
	s.mu.Lock()
	if len(s.pending) == 0 {
		s.mu.Unlock()
	} else if !s.waitAndUnlock(ctx) {
		return
	}
	s.deliver(ctx, event)
}

// offer tells the consumer to take the pending events.
// If their number exceeds limit, offer waits until the consumer takes them.
// If ctx ends first, the next call of offer delivers them.
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

// waitAndUnlock unlocks s and waits until the pending events are taken or ctx ends.
// It reports whether they are taken.
func (s *Stream) waitAndUnlock(ctx context.Context) bool {
	if s.taken == nil {
		s.taken = make(chan struct{})
	}
	taken := s.taken
	s.mu.Unlock()
	select {
	case <-taken:
		return true
	case <-s.abandoned:
	case <-ctx.Done():
	}
	return false
}

// take returns the pending events.
// The argument previous is an earlier result, whose memory is used for later events.
func (s *Stream) take(previous []Event) []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	pending := s.pending
	s.pending, s.offered = previous[:0], false
	if s.taken != nil {
		close(s.taken)
		s.taken = nil
	}
	return pending
}

// deliver gives d to the consumer, or drops d if the consumer has stopped reading.
// It returns false if ctx ended first.
func (s *Stream) deliver(ctx context.Context, d any) bool {
	select { // in the common case the buffer is empty, and a short select is faster
	case s.deliveries <- d:
		return true
	default:
	}
	select {
	case s.deliveries <- d:
	case <-s.abandoned:
	case <-ctx.Done():
		return false
	}
	return true
}

// replaceFirst replaces the first collected event. It must be called before any offer.
func (s *Stream) replaceFirst(e Event) {
	if s != nil {
		s.pending[0] = e
	}
}

// drop removes all collected events. It must be called before any offer.
func (s *Stream) drop() {
	if s != nil {
		s.pending = nil
	}
}

// Consume runs a graph in a new goroutine and calls yield with each of its events.
// It converts the events with newEvent.
// When the run ends, Consume returns the error of the run.
// When yield returns false, Consume cancels the run, waits for it and returns nil.
func Consume(ctx context.Context, run func(context.Context, *Stream) error, newEvent func(*Event) any, yield func(any) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := newStream(newEvent)
	err := errors.New("runtime.Goexit ended the run")
	var done sync.WaitGroup
	done.Go(func() {
		defer s.deliver(context.Background(), nil)
		err = run(ctx, s)
	})
	defer func() { // also when yield panics
		cancel(errConsumerLeft)
		close(s.abandoned)
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
				if !yield(newEvent(&taken[i])) {
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
