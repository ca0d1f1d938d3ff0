package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// runTasks runs the due tasks and waits for them.
// It returns the errors of the store and of the executor. The error of a task is in the task.
func (r *run) runTasks(tasks []Task) error {
	if r.Executor != nil && r.log != nil && r.parent == nil {
		if ran, err := r.Executor.runTasks(r, tasks); ran {
			return err
		}
	}
	if r.single {
		return r.runSingle(&tasks[0])
	}
	return r.runHere(tasks, nil)
}

// runHere runs the due tasks concurrently in this process, up to the limit, and waits for them.
// It leaves out the tasks for which the list others is true. The list may be nil.
// It returns the errors of the store. The error of a task is in the task.
func (r *run) runHere(tasks []Task, others []bool) error {
	if r.parent == nil {
		r.events.offer(r.storeCtx, maxAhead)
	}
	w := &workers{run: r, tasks: tasks, others: others}
	due := countDue(tasks, others)
	if limit := r.limits.MaxParallel; limit > 0 {
		due = min(due, limit)
	}
	w.unstarted.Store(int64(due))
	w.start()
	w.group.Wait()
	return errors.Join(w.errs...)
}

// countDue returns the number of due tasks, without others.
func countDue(tasks []Task, others []bool) int {
	due := 0
	for i := range tasks {
		if tasks[i].due() && (others == nil || !others[i]) {
			due++
		}
	}
	return due
}

// runSingle runs the only task of a superstep in the goroutine of the run.
// If the task finishes, the commit stores its result.
// If it fails or asks a question, runSingle stores its outcome.
func (r *run) runSingle(t *Task) error {
	if !t.due() {
		return nil
	}
	if r.events == nil {
		t.execute()
	} else {
		e := t.event(TaskStarted, r.began)
		r.emit(&e)
		if r.parent == nil {
			r.events.offer(r.storeCtx, maxAhead)
		}
		t.execute()
		e = t.ended()
		r.emit(&e)
	}
	if t.finished {
		return nil
	}
	return r.storeResult(t)
}

// workers run the tasks of one superstep.
// A worker that begins a task starts another worker, unless one is being started.
// So tasks that block run concurrently, and quick tasks share few goroutines.
type workers struct {
	run       *run
	tasks     []Task
	others    []bool       // for each task, whether the workers leave it out; nil for none
	next      atomic.Int64 // the index of the first task that no worker has taken
	unstarted atomic.Int64 // the number of workers that may still start
	starting  atomic.Bool  // a worker was started and does not run yet
	group     sync.WaitGroup

	mu   sync.Mutex
	errs []error // the errors of the store
}

// start starts a worker, unless one is being started or no more may start.
func (w *workers) start() {
	if w.starting.CompareAndSwap(false, true) && w.unstarted.Add(-1) >= 0 {
		w.group.Go(w.work)
	}
}

// work runs tasks until none is left.
// If a node ends the goroutine with runtime.Goexit, another worker continues.
func (w *workers) work() {
	w.starting.Store(false)
	i := 0
	defer func() {
		if i < len(w.tasks) { // the node has called runtime.Goexit
			w.finish(&w.tasks[i])
			w.group.Go(w.work)
		}
	}()
	for {
		i = int(w.next.Add(1)) - 1
		if i >= len(w.tasks) {
			return
		}
		t := &w.tasks[i]
		if !t.due() || w.others != nil && w.others[i] {
			continue
		}
		if i+1 < len(w.tasks) {
			w.start()
		}
		if w.run.events != nil {
			w.run.events.send(w.run.storeCtx, t.event(TaskStarted, time.Now()))
		}
		t.execute()
		w.finish(t)
	}
}

// finish stores the outcome of a task and then sends its event.
func (w *workers) finish(t *Task) {
	if err := w.run.storeResult(t); err != nil {
		w.mu.Lock()
		w.errs = append(w.errs, err)
		w.mu.Unlock()
	}
	if w.run.events != nil {
		w.run.events.send(w.run.storeCtx, t.ended())
	}
}
