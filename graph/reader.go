package graph

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/state"
)

// reader passes the events of a run to the loop that reads them. The run has a
// goroutine of its own, and so may its tasks.
type reader struct {
	loose bool      // the run may be ahead of the loop
	batch []note    // the run's own, not handed over yet
	clock time.Time // as the run last read it whole; see now

	mu      sync.Mutex
	queue   []note // handed over, and not taken
	since   time.Time
	handed  int // notes, so far
	taken   int
	waiting int       // goroutines that wait for the loop
	took    sync.Cond // the loop took the queue, or was left
	rest    rest
	ended   bool // the run
	left    bool // the loop
	wake    chan struct{}
	nap     *time.Timer
	looks   int         // of the loop, before it rests; see take
	some    atomic.Bool // the queue is not empty, or the run has ended
}

// rest is what the loop does while there is nothing for it.
type rest uint8

const (
	awake rest = iota
	naps       // it looks again soon, and is woken when much is there
	sleeps
)

// A run without a thread may be ahead of its reader, as nothing is kept of it:
// by so many notes, or by what it has had to tell for so long.
const (
	most = 96
	soon = time.Millisecond
)

func newReader(loose bool) *reader {
	rd := &reader{loose: loose, looks: fewLooks, wake: make(chan struct{}, 1)}
	rd.took.L = &rd.mu
	pair := noteBuffers.Get().(*[2][]note)
	rd.batch, rd.queue = pair[0], pair[1]
	return rd
}

// noteBuffers are what readers that are done leave to others: a batch and a
// queue. In a quick run they are most of what its events would take.
var noteBuffers = sync.Pool{New: func() any { return new([2][]note) }}

// close gives the buffers back, of which the loop has one that it took last. The
// run has ended; a goroutine that a node left behind may still post.
func (rd *reader) close(last []note) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if last == nil {
		last = rd.queue
	}
	pair := &[2][]note{rd.batch, last}
	rd.batch, rd.queue = nil, nil
	for i, b := range pair {
		if b = b[:cap(b)]; len(b) > 4*most {
			pair[i] = nil
			continue
		}
		clear(b)
		pair[i] = b[:0]
	}
	noteBuffers.Put(pair)
}

// note is an event, or what the loop makes the events of lone tasks of, as the
// run has other things to do. What of the rest is not nil happened at one time and
// in this order.
type note struct {
	event Event

	time time.Time
	step int
	of   *scene     // the task that ended, or the run
	done *task      // ended with an update
	view state.View // came of it
	next *scene     // the task that began with the next superstep
}

// scene is what events are of, and the ids of a superstep that is only that
// task.
type scene struct {
	Origin
	ids []string
	run *Origin
}

// events calls yield with the events of a note, until it returns false.
func (n *note) events(yield func(Event, error) bool) bool {
	if n.event != nil {
		return yield(n.event, nil)
	}
	if n.done != nil && !yield(TaskFinished{Place: Place{n.time, n.step, &n.of.Origin}, Update: n.done.writes}, nil) {
		return false
	}
	if n.view != nil && !yield(StateChanged{Place{n.time, n.step, n.of.run}, n.view}, nil) {
		return false
	}
	if n.next == nil {
		return true
	}
	return yield(StepStarted{Place{n.time, n.step + 1, n.next.run}, n.next.ids}, nil) &&
		yield(TaskStarted{Place{n.time, n.step + 1, &n.next.Origin}}, nil)
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
			defer rd.end()
			_, err = g.invoke(ctx, t, rd, writes)
		})
		var batch []note
		defer func() { // also when the loop was left, or panicked
			cancel(errStopped)
			rd.leave()
			run.Wait()
			rd.close(batch)
		}()
		for batch = rd.take(nil); batch != nil; batch = rd.take(batch) {
			for i := range batch {
				if !batch[i].events(yield) {
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

// So often the loop looks for events before it rests, as quick steps follow one
// another faster than a goroutine wakes up: few times at first and after a rest, and
// twice as often each time that it did not look in vain, as then a wait is short that
// the collector or another process made longer.
const (
	fewLooks  = 16
	manyLooks = 512
)

// take returns what was handed over, or nil at the end of the run. Done is a
// batch that is done with.
func (rd *reader) take(done []note) []note {
	clear(done)
	looks := rd.looks
	for try := 0; ; try++ {
		if try < looks && !rd.some.Load() {
			runtime.Gosched()
			continue
		}
		rd.mu.Lock()
		batch, ended := rd.queue, rd.ended
		if len(batch) > 0 {
			rd.queue, rd.taken = done[:0], rd.handed
			rd.some.Store(ended)
			if rd.waiting > 0 {
				rd.took.Broadcast()
			}
		} else if try >= looks && !ended {
			rd.rest = sleeps
			if rd.loose && try < looks+2 {
				rd.rest = naps
			}
		}
		how := rd.rest
		rd.mu.Unlock()
		switch {
		case len(batch) > 0:
			if 0 < try && try < looks {
				rd.looks = min(2*looks, manyLooks)
			}
			return batch
		case ended:
			return nil
		case how == awake:
			runtime.Gosched()
		default:
			rd.looks = fewLooks
			rd.doze(how)
		}
	}
}

// doze waits until something was handed over, but naps are short.
func (rd *reader) doze(how rest) {
	if how == sleeps {
		<-rd.wake
	} else {
		rd.snooze()
	}
	rd.mu.Lock()
	rd.rest = awake
	rd.mu.Unlock()
}

func (rd *reader) snooze() {
	if rd.nap == nil {
		rd.nap = time.NewTimer(soon)
	} else {
		rd.nap.Reset(soon)
	}
	select {
	case <-rd.wake:
		rd.nap.Stop()
	case <-rd.nap.C:
	}
}

// rouse wakes the loop. The lock is held.
func (rd *reader) rouse() {
	if rd.rest == awake {
		return
	}
	rd.rest = awake
	select {
	case rd.wake <- struct{}{}:
	default: // a nap ended before it was woken from it
	}
}

// now is the time, for the run's own goroutine and not for those of its subgraphs.
// The monotonic clock tells what has passed since the whole one was read, not long
// ago: that costs half.
func (rd *reader) now() time.Time {
	const fresh = 100 * time.Millisecond
	if since := time.Since(rd.clock); since >= 0 && since < fresh {
		return rd.clock.Add(since)
	}
	rd.clock = time.Now()
	return rd.clock
}

// add puts a note into the batch of the run's own goroutine.
func (rd *reader) add(n note) { rd.batch = append(rd.batch, n) }

// last returns the newest note of the batch, to be added to. It may be nil.
func (rd *reader) last() *note {
	if n := len(rd.batch); n > 0 {
		return &rd.batch[n-1]
	}
	return nil
}

// open puts the event that opens a run before those of its first checkpoint.
func (rd *reader) open(ev Event) { rd.batch = slices.Insert(rd.batch, 0, note{event: ev}) }

// flush hands the batch over. When that returns, the loop has taken it; or, if
// the run may be ahead, has not long to go until it does.
func (rd *reader) flush(now time.Time) {
	if rd == nil || len(rd.batch) == 0 {
		return
	}
	rd.mu.Lock()
	defer rd.mu.Unlock()
	before, late := rd.handed, false
	rd.handed += len(rd.batch)
	if len(rd.queue) == 0 {
		rd.since = now
		rd.queue, rd.batch = rd.batch, rd.queue
	} else {
		late = now.Sub(rd.since) > soon
		rd.queue = append(rd.queue, rd.batch...)
		rd.batch = rd.batch[:0]
	}
	rd.some.Store(true)
	switch {
	case !rd.loose:
		rd.rouse()
		rd.await(rd.handed)
	case late || len(rd.queue) >= most:
		rd.rouse()
		rd.await(before)
	case rd.rest == sleeps || len(rd.queue) >= most/2:
		rd.rouse()
	}
}

// post hands an event over from the goroutine of a task, and waits until it was
// taken.
func (rd *reader) post(ev Event) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.queue = append(rd.queue, note{event: ev})
	rd.handed++
	rd.some.Store(true)
	rd.rouse()
	rd.await(rd.handed)
}

// await waits until so many notes were taken, or the loop was left. The lock is
// held.
func (rd *reader) await(handed int) {
	for rd.taken < handed && !rd.left {
		rd.waiting++
		rd.took.Wait()
		rd.waiting--
	}
}

// end tells the loop that the run has ended.
func (rd *reader) end() {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.ended = true
	rd.some.Store(true)
	rd.rouse()
}

// leave tells the run and its tasks that nobody reads any more.
func (rd *reader) leave() {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.left = true
	rd.took.Broadcast()
}
