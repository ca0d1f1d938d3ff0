package engine

import (
	"context"
	"errors"
	"sync"
)

// errConsumerLeft ends a run whose events nobody reads any more.
var errConsumerLeft = errors.New("the reader of the events left")

// A Stream carries the events of a run to one consumer, through one channel.
//
// The goroutine of the run collects its events with add, and delivers them with
// flush before it runs a node and at its end. Other goroutines deliver theirs
// with send. Both return when the consumer has taken the events: so a slow
// consumer slows the run, and memory does not grow. A nil Stream drops everything.
type Stream struct {
	batches chan []Event  // an empty batch ends the run
	left    chan struct{} // closed when the consumer stops reading

	// Of the run's goroutine. The channel has no buffer: when the consumer takes
	// a batch, it has finished with the one before, whose memory is used again.
	pending, spare []Event
}

func newStream() *Stream {
	return &Stream{batches: make(chan []Event), left: make(chan struct{})}
}

// add collects an event of the run's own goroutine.
func (s *Stream) add(e *Event) {
	if s != nil {
		s.pending = append(s.pending, *e)
	}
}

// flush delivers what was added. If ctx ends first, the next flush delivers it.
func (s *Stream) flush(ctx context.Context) {
	if s == nil || len(s.pending) == 0 {
		return
	}
	if s.deliver(ctx, s.pending) {
		s.pending, s.spare = s.spare[:0], s.pending
	}
}

// send delivers an event of any goroutine. It gives up when ctx ends.
func (s *Stream) send(ctx context.Context, e *Event) {
	if s != nil {
		s.deliver(ctx, []Event{*e})
	}
}

// deliver reports false if ctx ended before the consumer took the batch.
func (s *Stream) deliver(ctx context.Context, batch []Event) bool {
	select { // a consumer that waits is the common case, and needs no look at the rest
	case s.batches <- batch:
		return true
	default:
	}
	select {
	case s.batches <- batch:
	case <-s.left:
	case <-ctx.Done():
		return false
	}
	return true
}

// end tells the consumer that the run has ended.
func (s *Stream) end() { s.deliver(context.Background(), nil) }

// Consume runs a graph in a goroutine of its own and calls yield with its events,
// until yield returns false or the run has ended. It then cancels the run, waits
// for it and returns its error. A run that was abandoned returns none.
func Consume(ctx context.Context, run func(context.Context, *Stream) error, yield func(*Event) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := newStream()
	err := errors.New("the goroutine of the run was ended from within, by runtime.Goexit")
	var done sync.WaitGroup
	done.Go(func() {
		defer s.end()
		err = run(ctx, s)
	})
	defer func() { // also when yield panics
		cancel(errConsumerLeft)
		close(s.left)
		done.Wait()
	}()
	for batch := <-s.batches; len(batch) > 0; batch = <-s.batches {
		for i := range batch {
			if !yield(&batch[i]) {
				return nil
			}
		}
		clear(batch)
	}
	return err
}

// first changes the first event that was added and is not delivered yet.
func (s *Stream) first(change func(*Event)) {
	if s != nil {
		change(&s.pending[0])
	}
}

// drop forgets what was added and is not delivered yet.
func (s *Stream) drop() {
	if s != nil {
		s.pending = s.pending[:0]
	}
}
