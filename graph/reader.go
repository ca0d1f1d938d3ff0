package graph

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/weft-go/weft/state"
)

// reader passes the events of a run to the loop that reads them. The run has a
// goroutine of its own; it hands its events over in batches, and waits until
// the loop has taken the batch before.
type reader struct {
	batches chan []Event
	left    chan struct{} // closed when the loop has been left

	batch []Event // the run's own
	turn  int
	spare [][]Event // batches that the loop is done with when their turn comes
}

// ahead is how many batches of a run without a thread may wait for its reader:
// nothing is kept of it, so there is nothing to wait for, and waiting costs more
// than a superstep.
const ahead = 1

func newReader(mayRunAhead bool) *reader {
	n := 0
	if mayRunAhead {
		n = ahead
	}
	return &reader{batches: make(chan []Event, n), left: make(chan struct{}), spare: make([][]Event, n+1)}
}

// errStopped ends a run whose events nobody reads any more.
var errStopped = errors.New("the reader of the events left")

// stream runs the graph and yields its events.
func (g *Graph) stream(ctx context.Context, t *Thread, writes []state.Write) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		rd := newReader(t == nil)
		err := errors.New("graph: the run's goroutine was ended from within, by runtime.Goexit")
		var run sync.WaitGroup
		run.Go(func() {
			defer rd.finish()
			_, err = g.invoke(ctx, t, rd, writes)
		})
		defer func() { // also when the loop was left, or panicked
			cancel(errStopped)
			close(rd.left)
			run.Wait()
		}()
		for batch := rd.next(); batch != nil; batch = rd.next() {
			for _, ev := range batch {
				if !yield(ev, nil) {
					return
				}
			}
		}
		run.Wait()
		if err != nil {
			yield(nil, err)
		}
	}
}

// next returns the next batch. It looks for one a few times before it sleeps:
// quick steps follow one another faster than a goroutine wakes up.
func (rd *reader) next() []Event {
	for range looks {
		select {
		case batch := <-rd.batches:
			return batch
		default:
			runtime.Gosched()
		}
	}
	return <-rd.batches
}

// finish tells the loop that the run has ended. The channel is not closed: a
// goroutine that a node left behind may still want to send.
func (rd *reader) finish() {
	select {
	case rd.batches <- nil:
	case <-rd.left:
	}
}

const looks = 16

// add puts an event into the batch of the run's own goroutine.
func (rd *reader) add(ev Event) { rd.batch = append(rd.batch, ev) }

// open puts the event that opens a run before those of its first checkpoint.
func (rd *reader) open(ev Event) { rd.batch = slices.Insert(rd.batch, 0, ev) }

// flush hands the batch over. When that returns, the loop has taken every
// event of the batch before, so that its slice can be filled again.
func (rd *reader) flush() {
	if rd == nil || len(rd.batch) == 0 {
		return
	}
	select { // with one case, which is much quicker
	case rd.batches <- rd.batch:
	default:
		select {
		case rd.batches <- rd.batch:
		case <-rd.left:
		}
	}
	rd.batch, rd.spare[rd.turn] = rd.spare[rd.turn][:0], rd.batch
	rd.turn = (rd.turn + 1) % len(rd.spare)
}

// post hands an event over from the goroutine of a task.
func (rd *reader) post(ev Event) {
	select {
	case rd.batches <- []Event{ev}:
	case <-rd.left:
	}
}
