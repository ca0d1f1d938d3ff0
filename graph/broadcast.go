package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
)

// A Broadcast gives the events of one run to any number of readers, each from the
// event that it names. The run does not wait for readers and outlives them:
//
//	b := graph.NewBroadcast(0)
//	go b.Run(thread.Stream(runCtx, input)) // ends with the run; cancel runCtx to stop it
//	for e, err := range b.Events(requestCtx, 0) { … }
//
// The context of the run must not be that of a request, which ends with its reader.
// A server of server-sent events uses the number of an event, together with the id of
// the run, as the event's id. A browser that reconnects sends the id back as
// Last-Event-ID, and is served from the next number on.
//
// A Broadcast keeps the newest events only, so its memory is bounded. All methods
// are safe for concurrent use.
type Broadcast struct {
	limit int

	mu      sync.Mutex
	events  []Event // a ring; event n is at n modulo the limit
	next    int     // the number of the next event
	started bool
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
// buffer has room for. Zero means 4,096. An event may refer to a state of the graph,
// which is kept with it. Readers may come before [Broadcast.Run] is called; they wait.
func NewBroadcast(buffer int) *Broadcast {
	if buffer <= 0 {
		buffer = 4096
	}
	return &Broadcast{limit: buffer, changed: make(chan struct{})}
}

// Run reads the events of a run, from [Thread.Stream] or [Graph.Stream], until it
// ends, and returns its error, which readers get too. A panic of the sequence is a
// [PanicError]. A Broadcast has one run: a second call fails.
func (b *Broadcast) Run(events iter.Seq2[Event, error]) (err error) {
	b.mu.Lock()
	started := b.started
	b.started = true
	b.mu.Unlock()
	if started {
		return errors.New("graph: the broadcast has a run already; make a new one for each run")
	}
	err = errors.New("graph: the goroutine that read the events of the run called runtime.Goexit")
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended, b.err = true, err
		b.wake()
	}()
	defer recoverPanic(&err)
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

// Events yields the events from a number on, each once and in order, waits for
// more, and ends with the run. A negative number counts as 0. An error is the last
// pair: that of the run, an [ErrMissed], or the cause of the end of ctx. Its Number is
// the one to continue from. Leaving the loop early leaves nothing behind.
func (b *Broadcast) Events(ctx context.Context, from int) iter.Seq2[NumberedEvent, error] {
	return func(yield func(NumberedEvent, error) bool) {
		for n := max(from, 0); ; {
			if ctx.Err() != nil {
				yield(NumberedEvent{Number: n}, context.Cause(ctx))
				return
			}
			batch, oldest, changed, err := b.read(n)
			if errors.Is(err, ErrMissed) {
				n = oldest
			}
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
			}
		}
	}
}

// maxBatch bounds the events that a reader copies while it holds the lock.
const maxBatch = 64

// read returns events from number n on, and the number of the oldest that is kept. If
// there are none yet, it returns a channel that is closed when that changes; it is nil
// once the run has ended.
func (b *Broadcast) read(n int) (batch []Event, oldest int, changed <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest = b.next - len(b.events)
	switch {
	case n < oldest:
		return nil, oldest, nil, fmt.Errorf("%w: event %d is no longer kept, and the oldest that is kept has number %d; a larger buffer keeps more", ErrMissed, n, oldest)
	case n > b.next:
		return nil, oldest, nil, fmt.Errorf("%w: there is no event %d yet, and the next one has number %d; the number may be of another run", ErrMissed, n, b.next)
	case n < b.next:
		for i := n; i < b.next && len(batch) < maxBatch; i++ {
			batch = append(batch, b.events[i%b.limit])
		}
		return batch, oldest, nil, nil
	case b.ended:
		return nil, oldest, nil, b.err
	}
	return nil, oldest, b.changed, nil
}
