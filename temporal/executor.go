package temporal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/temporal/internal/seam"
)

const (
	// maxBatches is the maximum number of activities of one workflow of tasks.
	// Temporal allows 2,000 that have not ended.
	maxBatches = 500
	// maxWorkflowTasks is the maximum number of tasks of one workflow of tasks. It keeps the
	// ids of the tasks below Temporal's limit on payloads.
	maxWorkflowTasks = 20_000
)

// ExecutorOptions configures [NewExecutor].
type ExecutorOptions struct {
	Options
	// Nodes maps nodes to the task queues of their workers. Tasks of these nodes always run there.
	Nodes map[string]string
	// FanOut is the number of due tasks from which a superstep is spread over the workers of
	// [Options.TaskQueue]. Below it, tasks of nodes that Nodes does not name run in the process of the
	// run. Zero means never.
	FanOut int
	// Batch is the number of tasks that one activity runs at the same time, in one worker. A larger batch
	// costs less a task; a smaller one spreads better. Zero means 50. A superstep of very many tasks
	// has larger batches, so that its history stays small.
	Batch int
}

// NewExecutor returns an executor for [graph.Options] that runs tasks as activities. A [Worker]
// runs them, in the same process or another.
//
// The tasks of one superstep are a workflow of their own: its id is that of the thread, "/tasks/" and the id
// of the checkpoint. If the process of the run dies meanwhile, the next attempt waits for that workflow, and then
// passes the tasks on again.
func NewExecutor(c client.Client, o ExecutorOptions) *graph.Executor {
	return newExecutor(c, o)
}

func newExecutor(c client.Client, o ExecutorOptions) *graph.Executor {
	o.Options = o.withDefaults()
	if o.Batch <= 0 {
		o.Batch = 50
	}
	e := &executor{client: c, options: o}
	return &graph.Executor{Takes: e.takes, Execute: e.execute}
}

func init() {
	seam.Executor = func(c client.Client, queue string, batch int, run func(context.Context, graph.TaskSet) error) (graph.Executor, worker.Worker) {
		o := Options{TaskQueue: queue, HeartbeatTimeout: 2 * time.Second, Handover: 100 * time.Millisecond}
		w := newSDKWorker(c, queue, &activities{runSet: run}, &WorkerOptions{}, true)
		return *newExecutor(c, ExecutorOptions{Options: o, Batch: batch}), w
	}
}

type executor struct {
	client  client.Client
	options ExecutorOptions
}

func (e *executor) takes(node string, due int) bool {
	_, named := e.options.Nodes[node]
	return named || e.options.FanOut > 0 && due >= e.options.FanOut
}

// queuedSet is a set of tasks for the workers of a task queue.
type queuedSet struct {
	Queue string        `json:"queue"`
	Batch int           `json:"batch"`
	Set   graph.TaskSet `json:"set"`
}

// tasksArgs are the arguments of a workflow of tasks.
type tasksArgs struct {
	Options Options     `json:"options"`
	Sets    []queuedSet `json:"sets"`
}

// tasksInput is the argument of the activity that runs tasks.
type tasksInput struct {
	Set              graph.TaskSet `json:"set"`
	HeartbeatTimeout time.Duration `json:"heartbeat_timeout"`
}

// execute runs sets of tasks, as one workflow or as several for very many tasks.
func (e *executor) execute(ctx context.Context, sets []graph.TaskSet) error {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		errs  []error
	)
	for i, part := range e.parts(sets) {
		group.Go(func() {
			id := fmt.Sprintf("%s/tasks/%s", sets[0].Thread, sets[0].Checkpoint)
			if i > 0 {
				id = fmt.Sprintf("%s/%d", id, i)
			}
			if err := e.executePart(ctx, id, part); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// parts splits sets of tasks into the arguments of workflows.
func (e *executor) parts(sets []graph.TaskSet) [][]queuedSet {
	total := 0
	for _, s := range sets {
		total += len(s.Tasks)
	}
	batch := max(e.options.Batch, (min(total, maxWorkflowTasks)+maxBatches-1)/maxBatches)
	var parts [][]queuedSet
	room := 0
	for _, s := range sets {
		queue, ok := e.options.Nodes[s.Node]
		if !ok {
			queue = e.options.TaskQueue
		}
		for tasks := s.Tasks; len(tasks) > 0; {
			if room == 0 {
				parts, room = append(parts, nil), maxWorkflowTasks
			}
			n := min(room, len(tasks))
			set := s
			set.Tasks, tasks = tasks[:n], tasks[n:]
			last := len(parts) - 1
			parts[last] = append(parts[last], queuedSet{Queue: queue, Batch: batch, Set: set})
			room -= n
		}
	}
	return parts
}

// executePart runs one workflow of tasks and waits for it. If an earlier attempt of the run has started a workflow
// with this id, it first waits for that one. It then runs its own, because the other had other tasks: those that
// were due for the earlier attempt. Tasks that have a result do not run again.
func (e *executor) executePart(ctx context.Context, id string, sets []queuedSet) error {
	for {
		run, err := e.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: id, TaskQueue: e.options.TaskQueue, WorkflowExecutionErrorWhenAlreadyStarted: true,
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, tasksWorkflowName, tasksArgs{Options: e.options.Options, Sets: sets})
		other, joined := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
		switch {
		case joined:
			run = e.client.GetWorkflow(ctx, id, other.RunId)
		case err != nil:
			return err
		}
		err = run.Get(ctx, nil)
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), e.stop(context.WithoutCancel(ctx), run))
		}
		if !joined && !sdk.IsCanceledError(err) {
			return err
		}
	}
}

// stop cancels a workflow of tasks and waits until its activities have ended.
func (e *executor) stop(ctx context.Context, run client.WorkflowRun) error {
	ctx, cancel := context.WithTimeout(ctx, 2*e.options.HeartbeatTimeout)
	defer cancel()
	err := e.client.CancelWorkflow(ctx, run.GetID(), run.GetRunID())
	if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
		return fmt.Errorf("cancel the workflow %s: %w", run.GetID(), err)
	}
	if err := run.Get(ctx, nil); ctx.Err() != nil {
		return fmt.Errorf("the workflow %s has not ended yet: %w", run.GetID(), err)
	}
	return nil
}

// runTaskSets is the workflow that runs tasks in batches, all at the same time.
func runTaskSets(ctx workflow.Context, args tasksArgs) error {
	var (
		group = workflow.NewWaitGroup(ctx)
		errs  []error
	)
	for _, s := range args.Sets {
		for tasks := range slices.Chunk(s.Set.Tasks, s.Batch) {
			group.Add(1)
			workflow.Go(ctx, func(ctx workflow.Context) {
				defer group.Done()
				set := s.Set
				set.Tasks = tasks
				in := tasksInput{Set: set, HeartbeatTimeout: args.Options.HeartbeatTimeout}
				if err := onBuild(ctx, args.Options, s.Queue, set.Version, tasksActivity, in, nil); err != nil {
					errs = append(errs, err)
				}
			})
		}
	}
	group.Wait(ctx)
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}
