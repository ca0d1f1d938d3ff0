package engine

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errConsumerLeft ends a run whose events nobody reads any more.
var errConsumerLeft = errors.New("the reader of the events left")

// A Stream carries the events of a run to one consumer, through one channel.
//
// The goroutine of the run collects its events with add, and delivers them with
// flush before it runs a node and at its end. Other goroutines deliver theirs with
// send and emit. So a slow consumer slows the run, and memory does not grow. A nil
// Stream drops everything.
type Stream struct {
	deliveries chan delivery
	left       chan struct{} // closed when the consumer stops reading

	// Of the run's goroutine. The channel has no buffer: when the consumer takes a
	// batch, it has finished with the one before, whose memory is used again.
	pending, spare []Event
}

// A delivery is what goes through the channel at once: events, or a value that a
// task emits, which needs no allocation. An empty delivery ends the run.
type delivery struct {
	batch []Event
	task  *Task
	value any
	at    time.Time
	step  int
}

func newStream() *Stream {
	return &Stream{deliveries: make(chan delivery), left: make(chan struct{})}
}

// add collects an event of the run's own goroutine.
func (s *Stream) add(e *Event) {
	if s != nil {
		s.pending = append(s.pending, *e)
	}
}

// flush delivers what was added. If ctx ends first, the next flush delivers it.
func (s *Stream) flush(ctx context.Context) {
	if s != nil && len(s.pending) > 0 && s.deliver(ctx, &delivery{batch: s.pending}) {
		s.pending, s.spare = s.spare[:0], s.pending
	}
}

// send delivers an event of any goroutine. It gives up when ctx ends.
func (s *Stream) send(ctx context.Context, e *Event) {
	if s != nil {
		s.deliver(ctx, &delivery{batch: []Event{*e}})
	}
}

// emit delivers a value of a task. It gives up when ctx ends.
func (s *Stream) emit(ctx context.Context, t *Task, value any) {
	if s != nil {
		s.deliver(ctx, &delivery{task: t, value: value, at: time.Now(), step: t.scope.step})
	}
}

// deliver reports false if ctx ended before the consumer took the delivery.
func (s *Stream) deliver(ctx context.Context, d *delivery) bool {
	select { // a consumer that waits is the common case, and needs no look at the rest
	case s.deliveries <- *d:
		return true
	default:
	}
	select {
	case s.deliveries <- *d:
	case <-s.left:
	case <-ctx.Done():
		return false
	}
	return true
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

// Consume runs a graph in a goroutine of its own and calls yield with its events,
// until yield returns false or the run has ended. It then cancels the run, waits
// for it and returns its error. A run that was abandoned returns none. The event
// belongs to yield until it returns.
func Consume(ctx context.Context, run func(context.Context, *Stream) error, yield func(*Event) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	s := newStream()
	err := errors.New("the goroutine of the run was ended from within, by runtime.Goexit")
	var done sync.WaitGroup
	done.Go(func() {
		defer s.deliver(context.Background(), &delivery{})
		err = run(ctx, s)
	})
	defer func() { // also when yield panics
		cancel(errConsumerLeft)
		close(s.left)
		done.Wait()
	}()
	emitted := Event{Kind: Emitted}
	for {
		d := <-s.deliveries
		if d.task != nil {
			emitted.Time, emitted.Step = d.at, d.step
			emitted.scope, emitted.task, emitted.Value = d.task.scope, d.task, d.value
			if !yield(&emitted) {
				return nil
			}
			continue
		}
		if len(d.batch) == 0 {
			return err
		}
		for i := range d.batch {
			if !yield(&d.batch[i]) {
				return nil
			}
		}
		clear(d.batch)
	}
}
