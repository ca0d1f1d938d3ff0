// Package broadcast gives the events of one run to any number of readers.
package broadcast

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"

	"github.com/weft-go/weft/graph"
)

// A Broadcast gives the events of one run to any number of readers. Each reader
// chooses the event at which it begins. The run does not wait for readers:
//
//	b := broadcast.New(0)
//	go b.Run(thread.Stream(runCtx, input)) // ends with the run; cancel runCtx to stop it
//	for e, err := range b.Events(requestCtx, 0) { … }
//
// Do not run it with the context of a request, which ends when its reader leaves. With
// server-sent events, use the id of the run and the number of the event as the event
// id. A browser that reconnects returns the id as Last-Event-ID, and the server continues
// with the next number.
//
// A Broadcast keeps only the newest events, so its memory is bounded. All methods
// are safe for concurrent use.
type Broadcast struct {
	limit int

	mu      sync.Mutex
	events  []graph.Event // a ring buffer; event n is at index n modulo limit
	next    int           // the number of the next event
	started bool
	ended   bool
	err     error
	changed chan struct{} // closed, and replaced, when an event or the end arrives
}

// An Event is an event of a run with its number in the run, counted from 0. A reader
// that reconnects asks for the number after the last one that it has received.
type Event struct {
	Number int
	Event  graph.Event
}

// New returns a broadcast that keeps the newest events. The argument buffer is their
// largest number; zero means 4,096. An event may hold a state of the graph in memory. Readers
// may begin before [Broadcast.Run] is called; they wait.
func New(buffer int) *Broadcast {
	if buffer <= 0 {
		buffer = 4096
	}
	return &Broadcast{limit: buffer, changed: make(chan struct{})}
}

// Run reads the events of a run, from [graph.Thread.Stream] or [graph.Graph.Stream], until the run
// ends. It returns the error of the run, which readers get too. If the sequence panics,
// the error is a [graph.PanicError] without a location. A second call of Run fails.
func (b *Broadcast) Run(events iter.Seq2[graph.Event, error]) (err error) {
	b.mu.Lock()
	started := b.started
	b.started = true
	b.mu.Unlock()
	if started {
		return errors.New("broadcast: Run was called before; make a new Broadcast for each run")
	}
	err = errors.New("broadcast: the goroutine that read the events of the run called runtime.Goexit")
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ended, b.err = true, err
		b.wake()
	}()
	defer func() {
		if v := recover(); v != nil {
			err = &graph.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	for e, err := range events {
		if err != nil {
			return err
		}
		b.add(e)
	}
	return nil
}

func (b *Broadcast) add(e graph.Event) {
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

// wake wakes the waiting readers. The caller holds the lock.
func (b *Broadcast) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Events yields the events whose number is from or higher, each once and in order. It
// waits for new events, and ends when the run ends. A negative number counts as 0. An
// error is the last pair: the error of the run, an [graph.ErrMissed], or the cause of the
// end of ctx. The Number returned with an error is the number to continue with.
func (b *Broadcast) Events(ctx context.Context, from int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for n := max(from, 0); ; {
			if ctx.Err() != nil {
				yield(Event{Number: n}, context.Cause(ctx))
				return
			}
			batch, oldest, changed, err := b.read(n)
			if errors.Is(err, graph.ErrMissed) {
				n = oldest
			}
			if err != nil {
				yield(Event{Number: n}, err)
				return
			}
			for _, e := range batch {
				if !yield(Event{Number: n, Event: e}, nil) {
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

// read returns events from number n on, and the number of the oldest kept event. If
// event n is the next one, it returns a channel that is closed when the event arrives or
// the run ends. Once the run has ended, it returns the error of the run instead.
func (b *Broadcast) read(n int) (batch []graph.Event, oldest int, changed <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest = b.next - len(b.events)
	switch {
	case n < oldest:
		return nil, oldest, nil, fmt.Errorf("%w: event %d is no longer kept, and the oldest that is kept has number %d; a larger buffer keeps more", graph.ErrMissed, n, oldest)
	case n > b.next:
		return nil, oldest, nil, fmt.Errorf("%w: there is no event %d yet, and the next one has number %d; perhaps the number belongs to another run", graph.ErrMissed, n, b.next)
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
