package temporal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var errNoGraph = errors.New("temporal: the thread has no graph")

// A Client starts runs of threads on workers. It is safe for concurrent use.
type Client struct {
	client  client.Client
	options Options
}

// NewClient returns a client. The options have to be those of the workers.
func NewClient(c client.Client, o Options) *Client { return &Client{c, o.withDefaults()} }

// A Thread is a handle on a thread of a graph whose runs are on workers. It is cheap, immutable and safe
// for concurrent use. A thread is a workflow, whose id is the id of the thread.
//
// One run at a time holds a thread. Other inputs wait in the order in which they arrived.
type Thread struct {
	c        *Client
	g        *graph.Graph // nil for a schedule
	graph    string       // its name
	id       string
	request  string
	metadata map[string]string
}

// Thread returns a handle on a thread. The graph needs the store of the workers. It is used to read
// states, and runs no node.
func (c *Client) Thread(g *graph.Graph, id string) *Thread {
	return &Thread{c: c, g: g, graph: g.Name(), id: id}
}

// ID returns the id of the thread.
func (t *Thread) ID() string { return t.id }

// Request returns a handle whose next run has an id of the caller, such as that of a request. A run
// that is started again with the same id is the same run. If it has ended, its input is not applied again, and the
// result is the present state of the thread. The checkpoints of the run have the id in their metadata, as "weft.request".
func (t *Thread) Request(id string) *Thread {
	c := *t
	c.request = id
	return &c
}

// Metadata returns a handle whose runs store the metadata with every checkpoint.
func (t *Thread) Metadata(m map[string]string) *Thread {
	c := *t
	c.metadata = maps.Clone(m)
	return &c
}

// Snapshot reads the state of the thread from the checkpoint store. See [graph.Thread.Snapshot].
func (t *Thread) Snapshot(ctx context.Context) (*graph.Snapshot, error) {
	return t.g.Thread(t.id).Snapshot(ctx)
}

// Invoke runs the graph on a worker, and returns the state at the end of the run or at its pause. The
// writes have the meaning that they have in [graph.Thread.Invoke]. If ctx ends, Invoke returns, and the
// run goes on; [Thread.Cancel] ends it.
//
// The error is a [graph.RunError]. It wraps a [graph.NodeError] for each failed task, of which only
// the text of the cause is known, and the sentinel errors of package graph.
func (t *Thread) Invoke(ctx context.Context, writes ...state.Write) (*graph.Snapshot, error) {
	run, err := t.Start(ctx, writes...)
	if err != nil {
		return nil, err
	}
	return run.Wait(ctx)
}

// Start starts a run, and returns when Temporal has stored the input. The run then happens, also if no worker
// lives at the moment: a worker has to accept the input first, so Start waits for one.
func (t *Thread) Start(ctx context.Context, writes ...state.Write) (*Run, error) {
	if t.g == nil {
		return nil, errNoGraph
	}
	if t.id == "" {
		return nil, t.fail(fmt.Errorf("%w: the thread has no id", checkpoint.ErrInvalid))
	}
	data, err := encodeWrites(writes)
	if err != nil {
		return nil, t.fail(err)
	}
	in := input{Writes: data, Metadata: t.metadata, Request: t.request, Repeated: t.request != ""}
	if in.Request == "" {
		in.Request = rand.Text()
	}
	return t.start(ctx, in)
}

// start starts a run. It repeats the call when the workflow of the thread ends in that moment, and while Temporal
// cannot be reached.
func (t *Thread) start(ctx context.Context, in input) (*Run, error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		handle, err := t.update(ctx, in)
		if err == nil {
			return &Run{thread: t, handle: handle}, nil
		}
		if !repeatable(err) {
			return nil, t.fail(err)
		}
		in.Repeated = true // the call may have had an effect
		if err := pause(ctx, wait, err); err != nil {
			return nil, t.fail(err)
		}
	}
}

// pause waits before a call is repeated. If ctx ends first, the error is that of ctx and of the call.
func pause(ctx context.Context, wait time.Duration, err error) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), err)
	}
}

func (t *Thread) update(ctx context.Context, in input) (client.WorkflowUpdateHandle, error) {
	start := t.c.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: t.id, TaskQueue: t.c.options.TaskQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, threadWorkflowName, threadArgs{Graph: t.graph, Options: t.c.options})
	return t.c.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: in.Request, WorkflowID: t.id, UpdateName: invokeUpdate, Args: []any{in},
			WaitForStage: client.WorkflowUpdateStageAccepted,
		},
	})
}

// repeatable reports whether a call failed because the workflow of the thread ended in that moment, because it has
// too many inputs, because its workers died several times, or because Temporal cannot be reached.
func repeatable(err error) bool {
	if app, ok := errors.AsType[*sdk.ApplicationError](err); ok {
		return app.Type() == continuingError
	}
	if _, ok := errors.AsType[*client.WorkflowUpdateServiceTimeoutOrCanceledError](err); ok {
		return true
	}
	switch e, _ := errors.AsType[serviceerror.ServiceError](err); e.(type) {
	case *serviceerror.NotFound, *serviceerror.ResourceExhausted, *serviceerror.Aborted,
		*serviceerror.Unavailable, *serviceerror.DeadlineExceeded, *serviceerror.Canceled, *serviceerror.WorkflowNotReady, *serviceerror.FailedPrecondition:
		return true
	}
	return false
}

// A Run is a run that a client started.
type Run struct {
	thread *Thread
	handle client.WorkflowUpdateHandle
}

// ID returns the id of the request. See [Thread.Request].
func (r *Run) ID() string { return r.handle.UpdateID() }

// Wait waits for the end or the pause of the run, and returns the state of the thread. See [Thread.Invoke].
func (r *Run) Wait(ctx context.Context) (*graph.Snapshot, error) {
	t := r.thread
	out, err := r.outcome(ctx)
	if err != nil {
		return nil, t.fail(err)
	}
	if out.Failure != nil && out.Checkpoint == "" {
		return nil, t.fail(out.Failure.err())
	}
	snap, err := t.Snapshot(ctx)
	if err == nil && snap.ID != out.Checkpoint { // another input was faster
		snap, err = t.g.Thread(t.id).At(out.Checkpoint).Snapshot(ctx)
	}
	if out.Failure != nil {
		return snap, t.fail(errors.Join(out.Failure.err(), err))
	}
	return snap, err
}

// outcome waits for the end of the run, also while Temporal cannot be reached.
func (r *Run) outcome(ctx context.Context) (out outcome, err error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := r.handle.Get(ctx, &out)
		if _, gone := errors.AsType[*serviceerror.NotFound](err); err == nil || gone || !repeatable(err) {
			return out, err
		}
		if err := pause(ctx, wait, err); err != nil {
			return out, err
		}
	}
}

// Stream is like [Thread.Invoke], and yields the state after each superstep. The last pair has the state at the
// end or the pause of the run, or its error. Stream reads the checkpoint store ten times a second, so that a
// quick run yields several states at once. Values that nodes give to graph.Emit, such as tokens, are not carried.
// Leaving the loop does not end the run; [Thread.Cancel] does.
func (t *Thread) Stream(ctx context.Context, writes ...state.Write) iter.Seq2[*graph.Snapshot, error] {
	return func(yield func(*graph.Snapshot, error) bool) {
		before, err := t.newest(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		run, err := t.Start(ctx, writes...)
		if err != nil {
			yield(nil, err)
			return
		}
		type result struct {
			snap *graph.Snapshot
			err  error
		}
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan result, 1)
		go func() {
			snap, err := run.Wait(ctx)
			ended <- result{snap, err}
		}()
		defer func() {
			cancel()
			<-ended
		}()
		poll := time.NewTicker(pollInterval)
		defer poll.Stop()
		for {
			var end *result
			select {
			case r := <-ended:
				ended <- r // for the deferred function
				end = &r
			case <-poll.C:
			}
			newest, ok := t.yieldNew(ctx, before, yield)
			if !ok {
				return
			}
			before = newest
			if end != nil {
				yield(end.snap, end.err)
				return
			}
		}
	}
}

// pollInterval is the time between two reads of the checkpoint store for a stream.
const pollInterval = 100 * time.Millisecond

// newest returns the id of the newest checkpoint; empty for a new thread.
func (t *Thread) newest(ctx context.Context) (string, error) {
	for info, err := range t.g.Thread(t.id).History(ctx, graph.HistoryQuery{Limit: 1}) {
		return info.ID, err
	}
	return "", nil
}

// yieldNew yields the states of the checkpoints after one, oldest first. It returns the newest.
func (t *Thread) yieldNew(ctx context.Context, after string, yield func(*graph.Snapshot, error) bool) (string, bool) {
	th := t.g.Thread(t.id)
	var fresh []string
	for info, err := range th.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return after, yield(nil, err)
		}
		if info.ID == after {
			break
		}
		fresh = append(fresh, info.ID)
	}
	for _, id := range slices.Backward(fresh) {
		snap, err := th.At(id).Snapshot(ctx)
		if !yield(snap, err) {
			return id, false
		}
		after = id
	}
	return after, true
}

// Cancel ends the current run of the thread. The results of finished tasks are kept, and the next
// run can resume. Cancel does not wait for the end, which takes up to 0.8 of the
// [Options.HeartbeatTimeout]. Inputs in the queue run afterwards. Without a run, Cancel does nothing.
func (t *Thread) Cancel(ctx context.Context) error {
	err := t.c.client.SignalWorkflow(ctx, t.id, "", cancelSignal, nil)
	if _, idle := errors.AsType[*serviceerror.NotFound](err); idle {
		return nil
	}
	return t.fail(err)
}

// A Status is what the workflow of a thread does. The tasks and pauses of the thread are in its [graph.Snapshot].
type Status struct {
	// Running says that a run of the thread is on a worker, or waits for one. Queued is the number of inputs behind it.
	Running bool `json:"running"`
	Queued  int  `json:"queued,omitempty"`
	// Deadlines are the open questions that get an answer when nobody gives one in time.
	Deadlines []QuestionDeadline `json:"deadlines,omitempty"`
}

// A QuestionDeadline is the time at which an open question gets its default answer.
type QuestionDeadline struct {
	Interrupt string    `json:"interrupt"`
	ID        string    `json:"id"`
	At        time.Time `json:"at"`
}

// Status asks the workflow of the thread. It needs a worker that lives. A thread whose workflow has ended
// is idle: its status is the zero value.
func (t *Thread) Status(ctx context.Context) (Status, error) {
	var s Status
	value, err := t.c.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: t.id, QueryType: statusQuery, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return s, nil
	}
	if err != nil || value.QueryRejected != nil {
		return s, t.fail(err)
	}
	return s, t.fail(value.QueryResult.Get(&s))
}

func (t *Thread) fail(err error) error {
	if err == nil {
		return nil
	}
	return &graph.RunError{Graph: t.graph, Thread: t.id, Err: err}
}
