package graph

import (
	"cmp"
	"context"

	"github.com/weft-go/weft/internal/engine"
)

// Hooks are functions that are called when a run, a superstep or a task begins, for tracing
// and metrics. Set them in [Options] or [RunOptions]. Any of them may be nil. Package graph/otelgraph has hooks for
// OpenTelemetry. Hooks must not change after they were given to a graph or a run.
//
// A hook returns a context derived from its own. The supersteps of a run, the tasks of a superstep,
// and the node and middleware of a task see the values of that context. A subgraph sees the values of
// the context of the task that runs it, and the hooks are called for its runs, supersteps and tasks
// too. So a hook that adds a wrapper of models to each context would add the wrapper again at each level:
// check first whether the context already has the wrapper, as [callbacks] does.
//
// A hook also returns a function that is called once at the end, or nil.
// Hooks delay the run, and must not panic. Concurrent tasks and runs call them concurrently.
//
// [callbacks]: https://github.com/weft-go/weft/blob/main/docs/howto/observe.md#with-functions-of-your-own
type Hooks struct {
	// Run is called for each run, before the run takes its thread, and for each call of a
	// subgraph. Only Thread, Run, Graph and Path of its argument are set; Step has no meaning there. A run whose
	// input is invalid does not call it.
	Run func(ctx context.Context, r Running) (context.Context, func(Outcome))
	// Held is called when a run has taken its thread, before the run reads the thread or stores anything. No other run
	// can change the thread from then on, so Held can check that the thread has not changed since the caller read it. An
	// error ends the run, which then has stored nothing. Runs of subgraphs, runs without a thread, and [Thread.Update] do
	// not call Held.
	Held func(ctx context.Context, r Running) error
	// Step is called for each superstep. Node and Task of its argument are empty.
	Step func(ctx context.Context, r Running) (context.Context, func(Outcome))
	// Task is called for each task that runs, and for each task of a flow. In a subgraph, its context is derived from
	// the context of the task that runs the subgraph. A task whose result is stored does not run. The context belongs to
	// the running node until the function for the end has returned, so Task and that function may use [Once].
	Task func(ctx context.Context, r Running) (context.Context, func(Outcome))
	// Retry is called when an attempt of a node under node.Retry has failed, before the wait for
	// the next attempt. If the run ends while the node waits, no attempt follows. Attempts are
	// counted from 1. The context is the context of the node.
	Retry func(ctx context.Context, attempt int, err error)
	// Stop is called for each static pause that a run reaches, with the context of the run. The
	// text that Stop returns is stored with the pause. The run that resumes has the text in
	// [Outcome.Stopped].
	Stop func(ctx context.Context) string
}

// An Outcome describes the end of a run, of a call of a subgraph, of a superstep or of a task.
type Outcome struct {
	// Err is nil if there is no error. For a run, it is the error of the run, which wraps the errors of
	// nodes. For a superstep, it is the errors of its tasks, or the error of the store. For a task, it is
	// the error that the node returned.
	Err error
	// Paused says that the run, the superstep or the task waits. Such a superstep is not committed.
	Paused bool

	// Steps is the number of supersteps of the run that ended without an error or a pause.
	Steps int
	// Pauses are the reasons for which the run waits.
	Pauses []Pause
	// Resumed says that the run resumed the current turn, or an earlier call of the subgraph.
	Resumed bool
	// Previous is the id of the run that stored the checkpoint at which this run began. It is
	// empty for a new thread.
	Previous string
	// Stopped is the text that Stop returned for the static pause at which this run began.
	Stopped string

	// Tasks is the number of the tasks of the superstep, including tasks whose result was stored.
	Tasks int
}

// newOutcome converts an outcome of the engine.
func newOutcome(o *engine.Outcome) Outcome {
	return Outcome{
		Err: o.Err, Paused: o.Paused || len(o.Pauses) > 0, Steps: o.Steps, Pauses: newPauses(o.Pauses),
		Resumed: o.Resumed, Previous: o.Previous, Stopped: o.Stopped, Tasks: o.Tasks,
	}
}

// Around returns hooks that call h and, inside it, inner. If inner is nil, Around returns h. A static
// pause is stored with the text that h returns for it, or with the text of inner if h returns "".
func (h *Hooks) Around(inner *Hooks) *Hooks {
	if inner == nil {
		return h
	}
	return &Hooks{
		Run: around(h.Run, inner.Run),
		Held: func(ctx context.Context, r Running) error {
			if err := h.held(ctx, r); err != nil {
				return err
			}
			return inner.held(ctx, r)
		},
		Step: around(h.Step, inner.Step),
		Task: around(h.Task, inner.Task),
		Retry: func(ctx context.Context, attempt int, err error) {
			h.retry(ctx, attempt, err)
			inner.retry(ctx, attempt, err)
		},
		Stop: func(ctx context.Context) string { return cmp.Or(h.stop(ctx), inner.stop(ctx)) },
	}
}

// A begin is the type of the hooks Run, Step and Task. It returns a context, and a function for the end, or nil.
type begin = func(context.Context, Running) (context.Context, func(Outcome))

// around returns a function that calls outer and, inside it, inner. Either may be nil.
func around(outer, inner begin) begin {
	if outer == nil {
		return inner
	}
	if inner == nil {
		return outer
	}
	return func(ctx context.Context, r Running) (context.Context, func(Outcome)) {
		ctx, endOuter := outer(ctx, r)
		ctx, endInner := inner(ctx, r)
		return ctx, func(o Outcome) {
			if endInner != nil {
				endInner(o)
			}
			if endOuter != nil {
				endOuter(o)
			}
		}
	}
}

// engineHooks converts hooks for the engine.
func (h *Hooks) engineHooks() *engine.Hooks {
	parts := map[engine.Part]begin{engine.RunPart: h.Run, engine.StepPart: h.Step, engine.TaskPart: h.Task}
	return &engine.Hooks{
		Enter: func(ctx context.Context, part engine.Part, r *engine.Running) (context.Context, func(*engine.Outcome)) {
			begin := parts[part]
			if begin == nil {
				return ctx, func(*engine.Outcome) {}
			}
			ctx, end := begin(ctx, newRunning(r))
			return ctx, func(o *engine.Outcome) {
				if end != nil {
					end(newOutcome(o))
				}
			}
		},
		Held:  func(ctx context.Context, r *engine.Running) error { return h.held(ctx, newRunning(r)) },
		Retry: h.retry,
		Stop:  h.stop,
	}
}

func (h *Hooks) held(ctx context.Context, r Running) error {
	if h.Held == nil {
		return nil
	}
	return h.Held(ctx, r)
}

func (h *Hooks) retry(ctx context.Context, attempt int, err error) {
	if h.Retry != nil {
		h.Retry(ctx, attempt, err)
	}
}

func (h *Hooks) stop(ctx context.Context) string {
	if h.Stop == nil {
		return ""
	}
	return h.Stop(ctx)
}
