package temporal

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// WorkerOptions configures [NewWorker].
type WorkerOptions struct {
	Options
	// Graphs are the graphs of the worker. All processes share their checkpoint store, and each graph
	// needs one. At least one graph is required.
	Graphs []*graph.Graph
	// Deadlines are the deadlines of questions, at most one for each interrupt.
	Deadlines []Deadline
	// Transient reports whether a run that failed with the error runs again, with a growing delay,
	// until it ends. Runs that fail because of the store or the worker always do. Nil means that
	// runs do not run again when a node has failed: the retries of nodes are those of node.Retry.
	Transient func(error) bool
	// TasksOnly makes a worker that runs only the tasks of an executor. Its task queue is one of
	// [ExecutorOptions.Nodes].
	TasksOnly bool
	// MaxActivities is the maximum number of runs and batches of tasks that the worker runs at once, for
	// each task queue that it polls. Zero means 1,000.
	MaxActivities int
	// StopTimeout is the time that runs have to end their superstep when the worker stops. They resume
	// on another worker. Zero means 30 seconds.
	StopTimeout time.Duration
}

// A Worker runs the threads of graphs for Temporal. Any number of processes may have one.
type Worker struct {
	workers []sdkworker.Worker
}

// NewWorker returns a worker that has not started. It returns an error for options that cannot work.
func NewWorker(c client.Client, o WorkerOptions) (*Worker, error) {
	o.Options = o.withDefaults()
	a := newActivities(&o)
	queues := []string{o.TaskQueue}
	for _, g := range o.Graphs {
		switch {
		case g.Checkpoints() == nil:
			return nil, fmt.Errorf("temporal: graph %q has no checkpoint store: %w", g.Name(), graph.ErrNoStore)
		case a.graphs[g.Name()] != nil:
			return nil, fmt.Errorf("temporal: two graphs have the name %q: %w", g.Name(), checkpoint.ErrInvalid)
		}
		a.graphs[g.Name()] = g
		if queue := buildQueue(o.TaskQueue, g.Version()); !slices.Contains(queues, queue) {
			queues = append(queues, queue)
		}
	}
	if len(a.graphs) == 0 {
		return nil, fmt.Errorf("temporal: the worker has no graph: %w", checkpoint.ErrInvalid)
	}
	for _, d := range o.Deadlines {
		if _, twice := a.deadlines[d.interrupt]; twice || d.of == nil {
			return nil, fmt.Errorf("temporal: interrupt %q has two deadlines, or one that NewDeadline did not make: %w", d.interrupt, checkpoint.ErrInvalid)
		}
		a.deadlines[d.interrupt] = d
	}
	w := &Worker{}
	for i, queue := range queues {
		w.workers = append(w.workers, newSDKWorker(c, queue, a, &o, i == 0 && !o.TasksOnly))
	}
	return w, nil
}

// deadlockTimeout is the time without progress after which a task of a workflow fails. The workflows of this package
// never block, so that only a machine without time for them is that slow, and Temporal's one second is too short for it.
const deadlockTimeout = 30 * time.Second

// newSDKWorker returns the worker of one task queue.
func newSDKWorker(c client.Client, queue string, a *activities, o *WorkerOptions, workflows bool) sdkworker.Worker {
	stop := o.StopTimeout
	if stop <= 0 {
		stop = 30 * time.Second
	}
	w := sdkworker.New(c, queue, sdkworker.Options{
		WorkerStopTimeout: stop, MaxConcurrentActivityExecutionSize: o.MaxActivities, DisableWorkflowWorker: !workflows,
		DeadlockDetectionTimeout: deadlockTimeout,
	})
	w.RegisterActivityWithOptions(a.runTasks, activity.RegisterOptions{Name: tasksActivity})
	if o.TasksOnly {
		return w
	}
	w.RegisterActivityWithOptions(a.look, activity.RegisterOptions{Name: lookActivity})
	w.RegisterActivityWithOptions(a.run, activity.RegisterOptions{Name: runActivity})
	w.RegisterActivityWithOptions((&starter{client: c}).start, activity.RegisterOptions{Name: startActivity})
	if workflows {
		w.RegisterWorkflowWithOptions(runThread, workflow.RegisterOptions{Name: threadWorkflowName})
		w.RegisterWorkflowWithOptions(runTaskSets, workflow.RegisterOptions{Name: tasksWorkflowName})
		w.RegisterWorkflowWithOptions(runSchedule, workflow.RegisterOptions{Name: scheduleWorkflowName})
	}
	return w
}

// Start starts the worker. It returns an error if the server cannot be reached.
func (w *Worker) Start() error {
	for i, started := range w.workers {
		if err := started.Start(); err != nil {
			for _, other := range w.workers[:i] {
				other.Stop()
			}
			return fmt.Errorf("temporal: start the worker: %w", err)
		}
	}
	return nil
}

// Stop stops the worker. Its runs end after their current superstep, and resume on another worker. Stop
// waits for them, at most for [WorkerOptions.StopTimeout].
func (w *Worker) Stop() {
	done := make(chan struct{}, len(w.workers))
	for _, one := range w.workers {
		go func() {
			one.Stop()
			done <- struct{}{}
		}()
	}
	for range w.workers {
		<-done
	}
}

// Run starts the worker, and stops it when the context ends. It then returns nil.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	w.Stop()
	return nil
}
