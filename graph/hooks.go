package graph

import (
	"cmp"
	"context"

	"github.com/weft-go/weft/internal/engine"
)

// HookFuncs are functions that are called when a run, a superstep or a task begins, for tracing
// and metrics. Any of them may be nil. Package graph/otelgraph has them for OpenTelemetry.
//
// A hook returns a context derived from its own. What runs inside sees the values of that
// context: the supersteps of a run, the tasks of a superstep, and the node of a task with
// its middleware. A subgraph sees those of the task that runs it, and the hooks are called for its runs,
// supersteps and tasks too. So a hook that adds a wrapper of models to each context adds it again at each
// level: look first whether the context has it, as [callbacks] does.
//
// A hook also returns a function that is called once at the end, or nil.
// Hooks delay the run, and must not panic. Concurrent tasks and runs call them concurrently.
//
// [callbacks]: https://github.com/weft-go/weft/blob/main/docs/howto/observe.md#with-functions-of-your-own
type HookFuncs struct {
	// Run is called for each run, before the run takes its thread, and for each call of a
	// subgraph. Only Thread, Run, Graph and Path of its argument are set; Step has no meaning there. A run whose
	// input is invalid does not call it.
	Run func(ctx context.Context, r Running) (context.Context, func(RunResult))
	// Step is called for each superstep. Node and Task of its argument are empty.
	Step func(ctx context.Context, r Running) (context.Context, func(StepResult))
	// Task is called for each task that runs, and for each task of a flow. In a subgraph, its context is derived from
	// that of the task that runs the subgraph. A task whose result is stored does not run. The context belongs to
	// the running node, also when the function for the end is called, so both may use [Once].
	Task func(ctx context.Context, r Running) (context.Context, func(TaskResult))
	// Retry is called when an attempt of a node under node.Retry has failed, before the wait for
	// the next attempt. If the run ends while the node waits, no attempt follows. Attempts are
	// counted from 1. The context is that of the node.
	Retry func(ctx context.Context, attempt int, err error)
	// Stop is called for each static pause that a run reaches, with the context of the run. The
	// pause is stored with the text that it returns, which a later run finds in
	// [RunResult.Stopped].
	Stop func(ctx context.Context) string
}

// A RunResult describes the end of a run, or of a call of a subgraph.
type RunResult struct {
	// Resumed says that the run resumed the current turn, or an earlier call of the subgraph.
	Resumed bool
	// Previous is the id of the run that stored the checkpoint at which this run began. It is
	// empty for a new thread.
	Previous string
	// Stopped is the text that Stop returned for the static pause at which this run began.
	Stopped string
	// Steps is the number of supersteps that ended without an error or a pause.
	Steps int
	// Pauses are the reasons for which the run waits, if it paused.
	Pauses []Pause
	// Err is the error of the run, or nil.
	Err error
}

// A StepResult describes the end of a superstep.
type StepResult struct {
	// Tasks is the number of its tasks, including tasks whose result was stored.
	Tasks int
	// Paused says that a task waits for an answer. Then the superstep is not committed.
	Paused bool
	// Err has the errors of its tasks, or the error of the store.
	Err error
}

// A TaskResult describes the end of a task.
type TaskResult struct {
	// Asked says that the task waits for an answer.
	Asked bool
	// Err is the error that the node returned. The error of the run wraps it.
	Err error
}

// Hooks are the hooks of a graph, in [Options]. They are immutable. [NewHooks] makes them; the zero
// value is not valid.
type Hooks struct{ hooks engine.Hooks }

// NewHooks returns hooks that call the functions.
func NewHooks(f HookFuncs) *Hooks {
	h := &Hooks{engine.Hooks{Enter: f.enter, Retry: f.Retry, Stop: f.Stop}}
	if f.Retry == nil {
		h.hooks.Retry = func(context.Context, int, error) {}
	}
	if f.Stop == nil {
		h.hooks.Stop = func(context.Context) string { return "" }
	}
	return h
}

// Around returns hooks that call h and, inside it, inner. If inner is nil, Around returns h. A static
// pause is stored with the text of h, or with that of inner if h has none.
func (h *Hooks) Around(inner *Hooks) *Hooks {
	if inner == nil {
		return h
	}
	first, second := h.hooks, inner.hooks
	return &Hooks{engine.Hooks{
		Enter: func(ctx context.Context, part engine.Part, r *engine.Running) (context.Context, func(*engine.Outcome)) {
			ctx, endFirst := first.Enter(ctx, part, r)
			ctx, endSecond := second.Enter(ctx, part, r)
			return ctx, func(o *engine.Outcome) {
				endSecond(o)
				endFirst(o)
			}
		},
		Retry: func(ctx context.Context, attempt int, err error) {
			first.Retry(ctx, attempt, err)
			second.Retry(ctx, attempt, err)
		},
		Stop: func(ctx context.Context) string { return cmp.Or(first.Stop(ctx), second.Stop(ctx)) },
	}}
}

// enter calls the function of a part, and returns a function that calls the function for its end.
func (f *HookFuncs) enter(ctx context.Context, part engine.Part, r *engine.Running) (context.Context, func(*engine.Outcome)) {
	switch {
	case part == engine.RunPart && f.Run != nil:
		ctx, end := f.Run(ctx, newRunning(r))
		if end != nil {
			return ctx, func(o *engine.Outcome) {
				end(RunResult{Resumed: o.Resumed, Previous: o.Previous, Stopped: o.Stopped, Steps: o.Steps, Pauses: newPauses(o.Pauses), Err: o.Err})
			}
		}
		return ctx, ignoreOutcome
	case part == engine.StepPart && f.Step != nil:
		ctx, end := f.Step(ctx, newRunning(r))
		if end != nil {
			return ctx, func(o *engine.Outcome) { end(StepResult{Tasks: o.Tasks, Paused: o.Paused, Err: o.Err}) }
		}
		return ctx, ignoreOutcome
	case part == engine.TaskPart && f.Task != nil:
		ctx, end := f.Task(ctx, newRunning(r))
		if end != nil {
			return ctx, func(o *engine.Outcome) { end(TaskResult{Asked: o.Paused, Err: o.Err}) }
		}
		return ctx, ignoreOutcome
	}
	return ctx, ignoreOutcome
}

func ignoreOutcome(*engine.Outcome) {}
