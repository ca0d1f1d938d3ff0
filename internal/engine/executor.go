package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

// errNoOutcome is the error of a task for which an executor stored nothing.
var errNoOutcome = errors.New("the executor returned, and no outcome of the task is stored")

// A TaskSet names tasks of one node in the superstep after a stored checkpoint.
// Package graph documents the fields.
type TaskSet struct {
	Graph, Version, Thread, Checkpoint, Run, Node string
	Tasks                                         []string
	RemainingSteps                                int
	Metadata                                      map[string]string
}

// An Executor runs tasks elsewhere. [NewExecutor] makes it.
type Executor interface {
	// runTasks runs the due tasks. It returns false if it takes none of them.
	runTasks(r *run, tasks []Task) (bool, error)
}

// An executor passes tasks to functions of the user, which package graph documents.
type executor struct {
	takes   func(node string, due int) bool
	execute func(ctx context.Context, sets []TaskSet) error
}

// NewExecutor returns an executor that calls the functions.
func NewExecutor(takes func(node string, due int) bool, execute func(context.Context, []TaskSet) error) Executor {
	return &executor{takes, execute}
}

func (e *executor) runTasks(r *run, tasks []Task) (bool, error) {
	sets, taken := e.taskSets(r, tasks)
	if sets == nil {
		return false, nil
	}
	return true, e.delegate(r, tasks, sets, taken)
}

// taskSets returns the due tasks that the executor takes, as one set for each node.
// The list taken reports for each task whether a set contains it.
func (e *executor) taskSets(r *run, tasks []Task) (sets []TaskSet, taken []bool) {
	taken = make([]bool, len(tasks))
	due := countDue(tasks, nil)
	places := map[*Node]int{} // the index of the node's set, or -1
	for i := range tasks {
		t := &tasks[i]
		if !t.due() {
			continue
		}
		at, known := places[t.node]
		if !known {
			at = -1
			if e.takes(t.node.Name, due) {
				at = len(sets)
				sets = append(sets, TaskSet{
					Graph: r.plan.Name, Thread: r.thread, Checkpoint: r.checkpoint, Run: r.id, Version: r.Version,
					RemainingSteps: t.RemainingSteps(), Metadata: r.Metadata, Node: t.node.Name,
				})
			}
			places[t.node] = at
		}
		if at >= 0 {
			taken[i] = true
			sets[at].Tasks = append(sets[at].Tasks, t.ID())
		}
	}
	return sets, taken
}

// delegate passes the taken tasks to the executor and runs the others here.
// It then reads the outcomes of the taken tasks from the store.
func (e *executor) delegate(r *run, tasks []Task, sets []TaskSet, taken []bool) error {
	r.single = false // the results are stored, and include the targets of branches
	r.touched.Store(true)
	ctx := r.nodeCtx
	if r.stepCtx != nil {
		ctx = r.stepCtx
	}
	var forget []checkpoint.Write
	r.events.offer(r.storeCtx, maxAhead)
	for i := range tasks {
		t := &tasks[i]
		if !taken[i] {
			continue
		}
		if t.saved != nil && t.saved.failure != "" { // clear the failure, or restoreAttempt would restore it as the outcome of this attempt
			forget = append(forget, checkpoint.Write{Task: t.ID(), Index: indexError, Channel: mark.Error})
		}
		r.events.send(r.storeCtx, t.event(TaskStarted, time.Now()))
	}
	if err := r.log.write(r.storeCtx, r.key(), forget); err != nil {
		return err
	}
	var (
		elsewhere sync.WaitGroup
		failed    error
	)
	elsewhere.Go(func() { failed = e.execute(ctx, sets) })
	err := r.runHere(tasks, taken)
	elsewhere.Wait()
	if failed != nil {
		failed = errors.Join(r.ctx.cause(), fmt.Errorf("the executor: %w", failed))
	}
	return errors.Join(failed, err, r.collect(tasks, taken, failed == nil))
}

// collect restores the outcomes of the taken tasks from the store.
// If complete is true, a task without an outcome fails.
func (r *run) collect(tasks []Task, taken []bool, complete bool) error {
	c, err := r.log.store.Get(r.storeCtx, r.key())
	if err == nil {
		r.pending, err = r.plan.decodePending(c.Writes)
	}
	if err != nil {
		return err
	}
	r.pending.relocate(r.plan, r.path)
	for i := range tasks {
		t := &tasks[i]
		if !taken[i] {
			continue
		}
		if t.restore(); t.due() {
			t.restoreAttempt(complete)
		}
		if !t.due() {
			r.events.send(r.storeCtx, t.ended())
		}
	}
	r.answers = r.pending.answers // without the answers that the tasks refused
	return nil
}

// restoreAttempt restores the failure or the questions that an executor stored for the task.
func (t *Task) restoreAttempt(complete bool) {
	saved := t.saved
	switch {
	case saved != nil && saved.failure != "":
		prefix := t.fail(errors.New("")).Error() // the stored text names the task already
		t.err = t.fail(errors.New(strings.TrimPrefix(saved.failure, prefix)))
		return
	case saved != nil && saved.asked:
		if open := saved.unanswered(t.scope.pending.answers); len(open) > 0 {
			t.ensureExtras().pauses = open
			return
		}
	}
	if complete {
		t.err = t.fail(errNoOutcome)
	}
}
