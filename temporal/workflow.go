package temporal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// The names of workflows, activities and messages. Histories have them, so they must not change.
const (
	threadWorkflowName   = "weft.thread"
	tasksWorkflowName    = "weft.tasks"
	scheduleWorkflowName = "weft.schedule"

	lookActivity  = "weft.look"
	runActivity   = "weft.run"
	tasksActivity = "weft.run_tasks"
	startActivity = "weft.start"

	invokeUpdate = "weft.invoke"
	cancelSignal = "weft.cancel"
	statusQuery  = "weft.status"
)

// continuingError is the type of the error of an update that has to be repeated.
const continuingError = "weft.continuing"

// firstInput is the time for which a new workflow waits for its first input.
const firstInput = time.Minute

// threadArgs are the arguments of the workflow of a thread.
type threadArgs struct {
	Graph   string  `json:"graph"`
	Options Options `json:"options"`
	// Deadlines are carried by continue-as-new.
	Deadlines []openDeadline `json:"deadlines,omitempty"`
}

// An openDeadline is a question that waits for an answer until a time.
type openDeadline struct {
	wireAnswer
	At time.Time `json:"at"`
	// Given means that the default answer was given. It is not given twice.
	Given bool `json:"given,omitempty"`
}

// An input is one call of a client.
type input struct {
	Writes json.RawMessage `json:"writes,omitempty"`
	// Request is the id of the call. Repeated says that an earlier execution of the workflow may have run it.
	Request  string            `json:"request,omitempty"`
	Repeated bool              `json:"repeated,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// A turn is an input in the queue of its thread.
type turn struct {
	input
	answers []wireAnswer // the default answers that are the input; nil for an input of a client
	done    bool
	outcome outcome
}

// A threadWorkflow runs the inputs of a thread, one after the other. It ends when no input and no
// deadline is left: the thread is in the checkpoint store.
type threadWorkflow struct {
	threadArgs
	thread     string
	queue      []*turn
	running    bool
	cancel     workflow.CancelFunc // ends the current run
	continuing bool                // inputs are refused, because a new execution follows
}

func runThread(ctx workflow.Context, args threadArgs) error {
	w := &threadWorkflow{threadArgs: args, thread: workflow.GetInfo(ctx).WorkflowExecution.ID}
	if err := w.listen(ctx); err != nil {
		return err
	}
	if len(w.Deadlines) == 0 {
		if _, err := workflow.AwaitWithTimeout(ctx, firstInput, w.queued); err != nil {
			return err
		}
	}
	for {
		if err := w.step(ctx); err != nil {
			return err
		}
		w.continuing = w.continuing || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		if w.queued() || !w.continuing && w.waits() {
			continue
		}
		if err := workflow.Await(ctx, func() bool { return w.queued() || workflow.AllHandlersFinished(ctx) }); err != nil {
			return err
		}
		switch {
		case w.queued():
		case w.waits():
			return workflow.NewContinueAsNewError(ctx, threadWorkflowName, w.threadArgs)
		default:
			return nil
		}
	}
}

// step waits for an input or a deadline, if there is one to wait for, and runs the first input of the queue.
func (w *threadWorkflow) step(ctx workflow.Context) error {
	if err := w.await(ctx); err != nil || !w.queued() {
		return err
	}
	return w.next(ctx)
}

// listen sets the handlers of messages.
func (w *threadWorkflow) listen(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, invokeUpdate, func(ctx workflow.Context, in input) (outcome, error) {
		t := &turn{input: in}
		w.queue = append(w.queue, t)
		err := workflow.Await(ctx, func() bool { return t.done })
		return t.outcome, err
	}, workflow.UpdateHandlerOptions{Validator: func(input) error {
		if w.continuing {
			return sdk.NewApplicationError("the workflow of the thread ends, and a new one follows; repeat the call", continuingError)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for signals := workflow.GetSignalChannel(ctx, cancelSignal); signals.Receive(ctx, nil); {
			if w.cancel != nil {
				w.cancel()
			}
		}
	})
	return workflow.SetQueryHandler(ctx, statusQuery, func() (Status, error) { return w.status(), nil })
}

func (w *threadWorkflow) status() Status {
	s := Status{Running: w.running, Queued: len(w.queue)}
	for _, d := range w.Deadlines {
		if !d.Given {
			s.Deadlines = append(s.Deadlines, QuestionDeadline{Interrupt: d.Interrupt, ID: d.ID, At: d.At})
		}
	}
	return s
}

func (w *threadWorkflow) queued() bool { return len(w.queue) > 0 }

// waits reports whether a question has a deadline that has not passed.
func (w *threadWorkflow) waits() bool {
	return slices.ContainsFunc(w.Deadlines, func(d openDeadline) bool { return !d.Given })
}

// await waits for an input. When a deadline passes first, the default answers are the input.
func (w *threadWorkflow) await(ctx workflow.Context) error {
	if !w.waits() || w.queued() {
		return nil
	}
	var first time.Time
	for _, d := range w.Deadlines {
		if !d.Given && (first.IsZero() || d.At.Before(first)) {
			first = d.At
		}
	}
	if _, err := workflow.AwaitWithTimeout(ctx, max(first.Sub(workflow.Now(ctx)), 0), w.queued); err != nil {
		return err
	}
	if w.queued() {
		return nil
	}
	var answers []wireAnswer
	for i := range w.Deadlines {
		if d := &w.Deadlines[i]; !d.Given && !d.At.After(workflow.Now(ctx)) {
			d.Given = true
			answers = append(answers, d.wireAnswer)
		}
	}
	if answers == nil {
		return nil
	}
	return w.give(ctx, answers)
}

// give adds default answers to the queue, as one input.
func (w *threadWorkflow) give(ctx workflow.Context, answers []wireAnswer) error {
	writes := make([]wireWrite, len(answers))
	for i := range answers {
		writes[i].Answer = &answers[i]
	}
	data, err := json.Marshal(writes)
	if err != nil {
		return err
	}
	request := fmt.Sprintf("deadline/%s/%d/%d", answers[0].ID, len(answers), workflow.Now(ctx).UnixNano())
	w.queue = append(w.queue, &turn{answers: answers, input: input{Writes: data, Request: request}})
	return nil
}

// next runs the first input of the queue.
func (w *threadWorkflow) next(ctx workflow.Context) error {
	t := w.queue[0]
	w.queue, w.running = w.queue[1:], true
	runCtx, cancel := workflow.WithCancel(ctx)
	w.cancel = cancel
	err := w.run(runCtx, t)
	w.cancel, w.running = nil, false
	cancel()
	switch {
	case err == nil && t.outcome.Checkpoint != "":
		w.keepDeadlines(workflow.Now(ctx), t.outcome.Deadlines)
	case err == nil: // the input was refused, so the questions are still open
		if len(t.answers) > 1 { // one of the questions may have been answered otherwise
			for _, answer := range t.answers {
				if err := w.give(ctx, []wireAnswer{answer}); err != nil {
					return err
				}
			}
		}
	case sdk.IsCanceledError(err):
		t.outcome.Failure = &failure{Kind: "canceled", Text: "the run was cancelled"}
	case timedOut(err):
		t.outcome.Failure = &failure{Kind: "timeout", Text: fmt.Sprintf("the run did not end within Options.RunTimeout, which is %v: %v", w.Options.RunTimeout, err)}
	default:
		t.outcome.Failure = &failure{Text: err.Error()}
		w.giveAgain(workflow.Now(ctx).Add(w.Options.HeartbeatTimeout), t.answers)
	}
	t.done = true
	return ctx.Err()
}

// giveAgain opens the deadlines of answers that could not be given. They pass again at the time.
func (w *threadWorkflow) giveAgain(at time.Time, answers []wireAnswer) {
	for i := range w.Deadlines {
		d := &w.Deadlines[i]
		if slices.ContainsFunc(answers, func(a wireAnswer) bool { return a.ID == d.ID }) {
			d.Given, d.At = false, at
		}
	}
}

// timedOut reports whether an activity was given up because of [Options.RunTimeout].
func timedOut(err error) bool {
	if _, ok := errors.AsType[*sdk.TimeoutError](err); ok {
		return true
	}
	failed, ok := errors.AsType[*sdk.ActivityError](err)
	return ok && failed.RetryState() == enums.RETRY_STATE_TIMEOUT
}

// run runs an input on a worker with the version of the graph that began the turn, or on any worker.
func (w *threadWorkflow) run(ctx workflow.Context, t *turn) error {
	base, err := w.look(ctx)
	if err != nil {
		return err
	}
	in := runInput{Graph: w.Graph, Thread: w.thread, Base: base, Input: t.input, HeartbeatTimeout: w.Options.HeartbeatTimeout}
	return onBuild(ctx, w.Options, w.Options.TaskQueue, base.Version, runActivity, in, &t.outcome)
}

// look returns the position of the thread. The worker of the workflow looks once. If it fails, because it has no
// such graph or its store is away, any worker looks, until one can.
func (w *threadWorkflow) look(ctx workflow.Context) (base position, err error) {
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: w.Options.HeartbeatTimeout, RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: 1},
	})
	err = workflow.ExecuteLocalActivity(local, lookActivity, w.Graph, w.thread).Get(ctx, &base)
	if err == nil || ctx.Err() != nil {
		return base, ctx.Err()
	}
	onAny := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: w.Options.TaskQueue, StartToCloseTimeout: w.Options.HeartbeatTimeout, ScheduleToCloseTimeout: w.Options.RunTimeout,
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: w.Options.HeartbeatTimeout},
	})
	err = workflow.ExecuteActivity(onAny, lookActivity, w.Graph, w.thread).Get(ctx, &base)
	return base, err
}

// onBuild executes an activity on a worker with the version of the graph. If no such worker takes it in
// time, another one does.
func onBuild(ctx workflow.Context, o Options, queue, version, activity string, in, out any) error {
	options := workflow.ActivityOptions{
		TaskQueue: buildQueue(queue, version), HeartbeatTimeout: o.HeartbeatTimeout, WaitForCancellation: true,
		StartToCloseTimeout: o.RunTimeout, ScheduleToCloseTimeout: o.RunTimeout, // the attempts together take no longer
		RetryPolicy: &sdk.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: o.HeartbeatTimeout},
	}
	if version != "" {
		options.ScheduleToStartTimeout = o.Handover
		options.ScheduleToCloseTimeout += o.Handover
	}
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, in).Get(ctx, out)
	if timeout, ok := errors.AsType[*sdk.TimeoutError](err); !ok || timeout.TimeoutType() != enums.TIMEOUT_TYPE_SCHEDULE_TO_START {
		return err
	}
	options.TaskQueue, options.ScheduleToStartTimeout, options.ScheduleToCloseTimeout = queue, 0, o.RunTimeout
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, in).Get(ctx, out)
}

// keepDeadlines replaces the deadlines by those of the open questions. A question that was open before
// keeps its time.
func (w *threadWorkflow) keepDeadlines(now time.Time, open []questionDeadline) {
	var kept []openDeadline
	for _, q := range open {
		i := slices.IndexFunc(w.Deadlines, func(d openDeadline) bool { return d.ID == q.ID })
		if i >= 0 {
			kept = append(kept, w.Deadlines[i])
		} else {
			kept = append(kept, openDeadline{wireAnswer: q.wireAnswer, At: now.Add(q.After)})
		}
	}
	w.Deadlines = kept
}
