package graph

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// execute runs the tasks that have no outcome yet and waits for all of them.
// Its error is that of storing what finished.
func (r *run) execute(tasks []task) error {
	watched := r.root.events != nil
	if r.alone && !watched {
		t := &tasks[0]
		if t.due() {
			t.execute()
		}
		if t.finished {
			return nil // the commit stores it
		}
		return r.keep(t)
	}
	c := r.gather(tasks)
	if watched && r.parent == nil {
		return c.watch()
	}
	c.start()
	c.workers.Wait()
	return errors.Join(c.errs...)
}

// crew is the goroutines that run the tasks of a superstep.
type crew struct {
	run     *run
	tasks   []task
	due     int
	next    atomic.Int64 // the task that is taken next
	workers sync.WaitGroup
	errs    []error  // of storing, by task; nil when nothing is stored
	done    chan int // tells the watching goroutine which task ended
	work    func()
	lone    chan int // gives the worker of lone tasks its task
	loner   sync.WaitGroup
}

// gather makes the crew of a superstep. A run has one, as it has one superstep
// at a time.
func (r *run) gather(tasks []task) *crew {
	c := r.crew
	if c == nil {
		c = &crew{run: r}
		c.work = c.labour
		r.crew = c
	}
	c.tasks, c.due, c.errs = tasks, 0, nil
	c.next.Store(0)
	for i := range tasks {
		if tasks[i].due() {
			c.due++
		}
	}
	if r.journal != nil {
		c.errs = make([]error, len(tasks))
	}
	return c
}

// start sends a worker for each task that is due, or as many as may work at
// once.
func (c *crew) start() {
	n := c.due
	if most := c.run.opts.MaxParallel; most > 0 {
		n = min(n, most)
	}
	c.workers.Add(n)
	for range n {
		go c.work()
	}
}

// wake gives a lone task to its worker, which stays for the run, with the stack
// that it has grown. Dismiss ends it.
func (c *crew) wake(i int) {
	if c.lone == nil {
		c.lone = make(chan int)
		c.loner.Go(func() {
			for i := range c.lone {
				c.perform(i)
			}
		})
	}
	c.lone <- i
}

// dismiss ends the worker of lone tasks. A run calls it when it ends.
func (c *crew) dismiss() {
	if c != nil && c.lone != nil {
		close(c.lone)
		c.loner.Wait()
	}
}

// labour takes tasks until there are none.
func (c *crew) labour() {
	defer c.workers.Done()
	for {
		i := int(c.next.Add(1)) - 1
		if i >= len(c.tasks) {
			return
		}
		t := &c.tasks[i]
		if !t.due() {
			continue
		}
		c.run.root.post(func() Event { return TaskStarted{t.place()} })
		c.perform(i)
	}
}

// perform runs a task, and says so when it has ended.
func (c *crew) perform(i int) {
	t := &c.tasks[i]
	t.execute()
	if err := c.run.settleTask(t); err != nil {
		c.errs[i] = err
	}
	if c.done != nil {
		c.done <- i
	} else {
		c.run.root.post(func() Event { return t.ended() })
	}
}

// watch runs the tasks and, meanwhile, passes their events on. It is in the
// reader's own goroutine.
func (c *crew) watch() error {
	r := c.run
	if c.done == nil || cap(c.done) < c.due {
		c.done = make(chan int, c.due)
	}
	lone := -1
	if c.due == 1 {
		for lone = 0; !c.tasks[lone].due(); lone++ {
		}
		r.root.deliver(TaskStarted{c.tasks[lone].place()})
	}
	if r.root.stopped {
		return context.Cause(r.ctx)
	}
	running := c.due
	defer func() {
		if running > 0 { // the reader's code panicked: no task outlives this call
			r.root.cancel(errStopped)
		}
		for ; running > 0; running-- {
			c.await()
		}
		if lone < 0 {
			c.workers.Wait()
		}
	}()
	if lone >= 0 {
		c.wake(lone)
	} else {
		c.start()
	}
	for running > 0 {
		select {
		case ev := <-r.root.events:
			r.root.deliver(ev)
		case i := <-c.done:
			running--
			r.root.deliver(c.tasks[i].ended())
		}
	}
	return errors.Join(c.errs...)
}

// await passes over events until a task ends.
func (c *crew) await() {
	for {
		select {
		case <-c.run.root.events:
		case <-c.done:
			return
		}
	}
}

// settleTask stores what a task of a superstep left.
func (r *run) settleTask(t *task) error {
	if r.alone && t.finished {
		return nil // the commit stores it
	}
	return r.keep(t)
}

// ended is the event of a task that has its outcome.
func (t *task) ended() TaskFinished {
	return TaskFinished{Place: t.place(), Update: t.writes, Asked: t.seldom().pauses != nil, Err: t.err}
}

// keep stores the outcome of a task, for the run that goes on if this one can
// not commit the superstep.
func (r *run) keep(t *task) error {
	if r.journal == nil || r.ctx.Err() != nil && !t.finished {
		return nil
	}
	writes, err := t.record()
	if err != nil {
		return t.fail(err)
	}
	r.touched.Store(true)
	return r.journal.write(r.ctx, r.key(), writes)
}
