package graph

import (
	"errors"
	"sync"
)

// execute runs the tasks that have no outcome yet and waits for all of them.
// Its error is that of storing what finished.
func (r *run) execute(tasks []task) error {
	if r.alone && r.root.events == nil {
		t := &tasks[0]
		if t.due() {
			t.execute()
		}
		if t.finished {
			return nil // the commit stores it
		}
		return r.keep(t)
	}
	if r.root.events != nil && r.parent == nil {
		return r.executeWatched(tasks)
	}
	errs := make([]error, len(tasks))
	var wg sync.WaitGroup
	r.spawn(tasks, func(i int) { wg.Add(1) }, func(i int, err error) {
		errs[i] = err
		wg.Done()
	})
	wg.Wait()
	return errors.Join(errs...)
}

// executeWatched is execute for a run whose events are read: while tasks run,
// this goroutine passes their events on.
func (r *run) executeWatched(tasks []task) error {
	var errs []error
	done := make(chan error, len(tasks))
	running := 0
	defer func() { // the reader's code panicked: no task outlives this call
		if running > 0 {
			r.root.cancel(errStopped)
		}
		for ; running > 0; running-- {
			r.await(done)
		}
	}()
	r.spawn(tasks, func(int) { running++ }, func(_ int, err error) { done <- err })
	for running > 0 {
		select {
		case ev := <-r.root.events:
			r.root.deliver(ev)
		case err := <-done:
			running--
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// await passes over events until a task ends.
func (r *run) await(done <-chan error) {
	for {
		select {
		case <-r.root.events:
		case <-done:
			return
		}
	}
}

// spawn starts a goroutine for each task that is due. Begin is called before
// any of them runs, end in the task's goroutine.
func (r *run) spawn(tasks []task, begin func(i int), end func(i int, err error)) {
	for i := range tasks {
		if tasks[i].due() {
			begin(i)
		}
	}
	var slots chan struct{}
	if n := r.opts.MaxParallel; n > 0 && n < len(tasks) {
		slots = make(chan struct{}, n)
	}
	for i := range tasks {
		t := &tasks[i]
		if !t.due() {
			continue
		}
		go func() {
			if slots != nil {
				slots <- struct{}{}
				defer func() { <-slots }()
			}
			t.execute()
			err := r.settleTask(t)
			end(i, err)
		}()
	}
}

// settleTask stores what a task of a superstep left and tells the reader.
func (r *run) settleTask(t *task) error {
	var err error
	if !r.alone || !t.finished {
		err = r.keep(t)
	}
	r.root.post(func() Event {
		return TaskFinished{Place: t.place(), Update: t.writes, Asked: t.seldom().pauses != nil, Err: t.err}
	})
	return err
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
