package graph

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// execute runs the tasks that have no outcome yet and waits for all of them.
// Its error is that of storing what finished.
func (r *run) execute(tasks []task) error {
	if r.alone {
		return r.executeLone(&tasks[0])
	}
	if r.parent == nil {
		r.root.reader.flush(r.now)
	}
	c := r.gather(tasks)
	c.hire()
	c.workers.Wait()
	r.now = time.Now()
	return errors.Join(c.errs...)
}

// executeLone runs the only task of a superstep, in the run's own goroutine.
func (r *run) executeLone(t *task) error {
	if t.due() {
		if r.root.reader == nil {
			t.execute()
		} else {
			r.executeSeen(t)
		}
	}
	if t.finished() {
		return nil // the commit stores it
	}
	return r.keep(t)
}

// executeSeen is for a lone task whose events are read.
func (r *run) executeSeen(t *task) {
	rd, plain := r.root.reader, r.parent == nil && t.place() == 0
	if !plain {
		r.emit(TaskStarted{t.placeAt(r.now)})
	}
	if r.parent == nil {
		rd.flush(r.now)
	}
	t.execute()
	if r.parent == nil {
		r.now = rd.now()
	} else {
		r.now = time.Now()
	}
	if plain && t.finished() {
		if n := rd.next(); n != nil {
			n.time, n.step, n.of, n.done = r.now, r.step, r.scene(t.node), t
		}
	} else {
		r.emit(t.ended(r.now))
	}
}

// crew is the goroutines that run the tasks of a superstep. Each of them, when
// it takes a task, sees to it that one more is ready for the next: so tasks that
// wait for anything do not hold up the others, and quick ones need few goroutines.
type crew struct {
	run     *run
	tasks   []task
	most    int32        // workers
	hired   atomic.Int32 // workers, so far
	ready   atomic.Bool  // one of them has not begun yet
	next    atomic.Int64 // the task that is taken next
	workers sync.WaitGroup
	errs    []error // of storing, by task; nil when nothing is stored
	work    func()
}

// gather makes the crew of a superstep. A run has one, as it has one superstep
// at a time.
func (r *run) gather(tasks []task) *crew {
	c := &r.work().crew
	if c.work == nil {
		c.work = c.begin
	}
	c.run = r
	due := 0
	for i := range tasks {
		if tasks[i].due() {
			due++
		}
	}
	if most := r.opts.MaxParallel; most > 0 {
		due = min(due, most)
	}
	c.tasks, c.most, c.errs = tasks, int32(due), nil
	c.next.Store(0)
	c.hired.Store(0)
	if r.journal != nil {
		c.errs = make([]error, len(tasks))
	}
	return c
}

// leave forgets the run, all of whose tasks are done.
func (c *crew) leave() { c.run, c.tasks, c.errs = nil, nil, nil }

// hire makes a worker ready, unless one is, or there are enough.
func (c *crew) hire() {
	if c.hired.Load() < c.most && c.ready.CompareAndSwap(false, true) {
		if c.hired.Add(1) > c.most {
			c.ready.Store(false)
			return
		}
		c.workers.Add(1)
		go c.work()
	}
}

func (c *crew) begin() {
	c.ready.Store(false)
	c.labour()
}

// labour takes tasks until there are none.
func (c *crew) labour() {
	defer c.workers.Done()
	i := 0
	defer func() {
		if i < len(c.tasks) { // a node ended this goroutine
			c.settle(i)
			c.workers.Add(1)
			go c.labour()
		}
	}()
	for {
		i = int(c.next.Add(1)) - 1
		if i >= len(c.tasks) {
			return
		}
		t := &c.tasks[i]
		if !t.due() {
			continue
		}
		c.hire()
		if c.run.root.reader != nil {
			t.tellStart()
		}
		t.execute()
		c.settle(i)
	}
}

// tellStart is apart, and stays so, for what it would take of a worker's stack; see task.execute.
//
//go:noinline
func (t *task) tellStart() { t.run.root.reader.post(TaskStarted{t.placeAt(time.Now())}) }

// settle stores what a task left and tells the reader.
func (c *crew) settle(i int) {
	t, rd := &c.tasks[i], c.run.root.reader
	if err := c.run.keep(t); err != nil {
		c.errs[i] = err
	}
	if rd != nil {
		rd.post(t.ended(time.Now()))
	}
}

// ended is the event of a task that has its outcome.
func (t *task) ended(now time.Time) TaskFinished {
	return TaskFinished{Place: t.placeAt(now), Update: t.writes, Asked: t.seldom().pauses != nil, Err: t.seldom().err}
}

// keep stores the outcome of a task, for the run that goes on if this one can
// not commit the superstep.
func (r *run) keep(t *task) error {
	if r.journal == nil || r.root.ctx.cause() != nil && !t.finished() {
		return nil
	}
	writes, err := t.record()
	if err != nil {
		return t.fail(err)
	}
	r.touched.Store(true)
	return r.journal.write(r.ctx, r.key(), writes)
}
