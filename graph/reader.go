package graph

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/state"
)

// reader passes the events of a run to the loop that reads them. The run has a
// goroutine of its own, whose notes go through a ring; its tasks, which may run on
// others, post theirs to a queue, when no note is on its way to the ring, and wait
// until they were taken. So what is in the ring comes first.
type reader struct {
	loose bool // the run may be ahead of the loop
	*noteBuffers

	// The run's own.
	put   uint64    // notes, so far
	free  uint64    // so many of them have left the ring, as it last saw
	clock time.Time // as it last read it whole; see now
	last  time.Time // when it handed notes over
	since time.Time // when it handed over the note numbered old
	old   uint64

	handed atomic.Uint64 // notes in the ring, so far
	taken  atomic.Uint64 // notes that the loop took
	left   atomic.Uint64 // notes that have left the ring

	// The loop's own.
	got   uint64 // as taken
	looks int    // before it rests; see take
	nap   *time.Timer

	rest atomic.Uint32 // what the loop does: awake, naps or sleeps
	wake chan struct{}
	some atomic.Bool // there are posts, or the run has ended

	mu      sync.Mutex
	posted  int // so far
	heard   int // posts that the loop took
	ended   bool
	gone    bool         // the loop
	waiting atomic.Int32 // goroutines that wait for the loop
	took    sync.Cond    // something was taken or has left the ring, or the loop is gone
}

// What the loop does while there is nothing for it.
const (
	awake  uint32 = iota
	naps          // it looks again soon, and is woken when much is there
	sleeps        // it is woken
)

// A run without a thread may be ahead of its reader, as nothing is kept of it:
// by so many notes that were not taken, or by what it has had to tell for so long.
const (
	most = 96
	soon = time.Millisecond
)

// So many notes leave the ring together, at most.
const atOnce = 32

// noteBuffers are what readers that are done leave to others. In a quick run they
// are most of what its events would take.
type noteBuffers struct {
	ring  []note // its length is a power of two
	queue []note // posts
	spare []note // the queue that the loop took last
}

// The runs of threads need a small ring: they are not ahead of their readers, of
// whom there may be many at once who wait for long.
var (
	smallBuffers = sync.Pool{New: func() any { return &noteBuffers{ring: make([]note, 16)} }}
	looseBuffers = sync.Pool{New: func() any { return &noteBuffers{ring: make([]note, 128)} }}
)

func (rd *reader) spareBuffers() *sync.Pool {
	if rd.loose {
		return &looseBuffers
	}
	return &smallBuffers
}

func newReader(loose bool) *reader {
	rd := &reader{loose: loose, looks: fewLooks, wake: make(chan struct{}, 1)}
	if loose {
		rd.looks = manyLooks
	}
	rd.took.L = &rd.mu
	rd.noteBuffers = rd.spareBuffers().Get().(*noteBuffers)
	return rd
}

// slot is where a note goes in the ring.
func (rd *reader) slot(n uint64) *note { return &rd.ring[n&uint64(len(rd.ring)-1)] }

// close gives the buffers back. The run has ended; a goroutine that a node left
// behind may still post.
func (rd *reader) close() {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	b := rd.noteBuffers
	if rd.left.Load() != rd.put { // the loop was left
		clear(b.ring)
	}
	for _, posts := range []*[]note{&b.queue, &b.spare} {
		if cap(*posts) > 4*most {
			*posts = nil
		}
		clear((*posts)[:cap(*posts)])
		*posts = (*posts)[:0]
	}
	rd.noteBuffers = nil
	rd.spareBuffers().Put(b)
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
		defer func() { // also when the loop was left, or panicked
			cancel(errStopped)
			rd.leave()
			run.Wait()
			rd.close()
		}()
		for batch := rd.take(nil); batch != nil; batch = rd.take(batch) {
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
// another faster than a goroutine wakes up: twice as often each time that it did not
// look in vain, as then a wait is short that the collector or another process made
// longer, and half as often after each rest. It begins with many looks where no store
// is waited for.
const (
	fewLooks  = 16
	manyLooks = 512
)

// take returns what was handed over next, or nil at the end of the run. Done is
// what it returned before.
func (rd *reader) take(done []note) []note {
	clear(done)
	if rd.left.Load() != rd.got {
		rd.left.Store(rd.got)
		rd.tell()
	}
	looks := rd.looks
	for try := 0; ; try++ {
		switch {
		case rd.handed.Load() != rd.got:
			rd.found(try)
			return rd.notes()
		case rd.some.Load():
			if posts, ended := rd.posts(); posts != nil || ended {
				rd.found(try)
				return posts
			}
		case try < looks:
			runtime.Gosched()
		default:
			rd.looks = max(rd.looks/2, fewLooks)
			rd.doze(rd.loose && try < looks+2)
		}
	}
}

// found notes what so many looks were good for.
func (rd *reader) found(tries int) {
	if 0 < tries && tries < rd.looks {
		rd.looks = min(2*rd.looks, manyLooks)
	}
}

// notes returns the next of the ring.
func (rd *reader) notes() []note {
	size := uint64(len(rd.ring))
	from := rd.got & (size - 1)
	n := min(rd.handed.Load()-rd.got, atOnce, size-from)
	rd.got += n
	rd.taken.Store(rd.got)
	rd.tell()
	return rd.ring[from : from+n]
}

// posts returns nil if there are none, or notes that come before them; and then
// whether nothing comes any more.
func (rd *reader) posts() (posts []note, ended bool) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.handed.Load() != rd.got {
		return nil, false
	}
	rd.some.Store(rd.ended)
	if len(rd.queue) == 0 {
		return nil, rd.ended
	}
	rd.queue, rd.spare = rd.spare[:0], rd.queue
	rd.heard = rd.posted
	rd.took.Broadcast()
	return rd.spare, false
}

// tell wakes those that wait for the loop.
func (rd *reader) tell() {
	if rd.waiting.Load() > 0 {
		rd.mu.Lock()
		defer rd.mu.Unlock()
		rd.took.Broadcast()
	}
}

// doze waits until something was handed over; but if it is short, only so long.
func (rd *reader) doze(short bool) {
	how := sleeps
	if short {
		how = naps
	}
	rd.rest.Store(how)
	defer rd.rest.Store(awake)
	if rd.handed.Load() != rd.got || rd.some.Load() {
		return // it was handed over before anybody could see that the loop rests
	}
	if !short {
		<-rd.wake
		return
	}
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

// rouse wakes the loop.
func (rd *reader) rouse() {
	if rd.rest.Load() == awake || rd.rest.Swap(awake) == awake {
		return
	}
	select {
	case rd.wake <- struct{}{}:
	default: // it woke up by itself before
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

// add puts a note into the ring. It is handed over by flush.
func (rd *reader) add(n note) {
	if to := rd.next(); to != nil {
		*to = n
	}
}

// next adds a note that is to be written where it is, which costs less; it is nil if
// nobody reads it. It is empty: what leaves the ring, or is left in it, is cleared.
func (rd *reader) next() *note {
	if rd.put-rd.free == uint64(len(rd.ring)) && !rd.makeRoom() {
		return nil
	}
	rd.put++
	return rd.slot(rd.put - 1)
}

// makeRoom hands over what was added, before its time, and waits until a note may be
// added. It returns false if nobody reads it. What is added at the begin and at the end
// of a run fits without: RunStarted is to come first, and RunEnded behind the release
// of the thread.
func (rd *reader) makeRoom() bool {
	full := func() bool { return rd.put-rd.left.Load() >= uint64(len(rd.ring)) }
	if full() {
		rd.handed.Store(rd.put)
		rd.rouse()
		rd.mu.Lock()
		rd.await(func() bool { return !full() })
		rd.mu.Unlock()
	}
	rd.free = rd.left.Load()
	return !full()
}

// newest returns the last note, to be added to; or nil if it was handed over.
func (rd *reader) newest() *note {
	if rd.put == rd.handed.Load() {
		return nil
	}
	return rd.slot(rd.put - 1)
}

// open puts the event that opens a run before those of its first checkpoint.
func (rd *reader) open(ev Event) {
	n := rd.put
	rd.add(note{})
	if rd.put == n {
		return
	}
	for ; n > rd.handed.Load(); n-- {
		*rd.slot(n) = *rd.slot(n - 1)
	}
	*rd.slot(n) = note{event: ev}
}

// flush hands over what was added. When that returns, the loop has taken it; or, if
// the run may be ahead, has not long to go until it does.
func (rd *reader) flush(now time.Time) {
	if rd == nil || rd.put == rd.handed.Load() {
		return
	}
	before, taken := rd.handed.Load(), rd.taken.Load()
	switch {
	case taken == before:
		rd.since, rd.old = now, before
	case taken > rd.old: // but not all of what followed
		rd.since, rd.old = rd.last, before-1
	}
	late := taken < before && now.Sub(rd.since) > soon
	rd.last = now
	rd.handed.Store(rd.put)
	switch {
	case !rd.loose:
		rd.rouse()
		rd.awaitTaken(rd.put)
	case late || rd.put-taken >= most:
		rd.rouse()
		rd.awaitTaken(before)
	case rd.rest.Load() == sleeps || rd.put-taken >= most/2:
		rd.rouse()
	}
}

// awaitTaken waits until the loop took so many notes.
func (rd *reader) awaitTaken(n uint64) {
	if rd.taken.Load() < n {
		rd.mu.Lock()
		defer rd.mu.Unlock()
		rd.await(func() bool { return rd.taken.Load() >= n })
	}
}

// post hands an event over from the goroutine of a task, and waits until it was
// taken.
func (rd *reader) post(ev Event) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.gone {
		return
	}
	rd.queue = append(rd.queue, note{event: ev})
	rd.posted++
	n := rd.posted
	rd.some.Store(true)
	rd.rouse()
	rd.await(func() bool { return rd.heard >= n })
}

// await waits until it is done, or the loop is gone. The lock is held.
func (rd *reader) await(done func() bool) {
	rd.waiting.Add(1)
	for !done() && !rd.gone {
		rd.took.Wait()
	}
	rd.waiting.Add(-1)
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
	rd.gone = true
	rd.took.Broadcast()
}
