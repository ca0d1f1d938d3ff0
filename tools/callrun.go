package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weft-go/weft/llm"
)

// A callRun is one tool call while it is prepared, approved and run.
type callRun struct {
	asked    llm.ToolCall // the call of the model; the answer has its id
	call     llm.ToolCall // the call of the tool that runs, with checked arguments
	tool     Tool
	options  *Options
	run      func(context.Context) (Result, error)
	approval *approvalState // not nil if a person must approve the call
	answer   *Outcome       // set if the call is answered without running the tool
	edited   string         // who or what changed the arguments; empty if nobody did
	err      error
}

// refuse answers the call with an error text, without running the tool.
func (e *callRun) refuse(why string) *callRun {
	e.answer = &Outcome{Message: e.options.trim(Result{Text: why, Failed: true}, e.call).message(e.asked)}
	return e
}

// remembered answers the call with the prepared answer, with the stored answer of Once, or
// by running the tool.
func (e *callRun) remembered(ctx context.Context) (Outcome, error) {
	switch {
	case e.answer != nil:
		return e.answered(ctx), nil
	case e.options.Once == nil || e.options.ByTask:
		return e.carryOut(ctx)
	}
	message, err := e.options.Once(ctx, e.asked.ID, func(ctx context.Context) (llm.Message, error) {
		out, err := e.carryOut(ctx)
		if err == nil && len(out.Update) > 0 {
			err = failure(e.call, ErrWrites)
		}
		return out.Message, err
	})
	return Outcome{Message: message}, err
}

// answered returns the answer of a call whose tool does not run.
func (e *callRun) answered(ctx context.Context) Outcome {
	e.emit(ctx, CallFinished{Call: e.asked, Answer: e.answer.Message})
	return *e.answer
}

// carryOut runs the tool and answers the call.
func (e *callRun) carryOut(ctx context.Context) (Outcome, error) {
	if e.approval != nil {
		if err := e.begin(ctx); err != nil {
			return Outcome{}, failure(e.call, err)
		}
		if e.answer != nil { // the person did not approve the call again
			return e.answered(ctx), nil
		}
	}
	e.emit(ctx, CallStarted{Call: e.call})
	result, err := e.wrapped(ctx)
	if err != nil {
		return e.failed(ctx, err)
	}
	message := e.noted(e.options.trim(result, e.call).message(e.asked))
	if err := message.Validate(); err != nil {
		return e.failed(ctx, fmt.Errorf("the result is not a valid message: %w", err))
	}
	e.emit(ctx, CallFinished{Call: e.asked, Answer: message})
	return Outcome{Message: message, Update: result.Update}, nil
}

// failed turns the error of a tool into an answer or an error of the call.
func (e *callRun) failed(ctx context.Context, err error) (Outcome, error) {
	if pauses(err) {
		return Outcome{}, errors.Join(err, e.pause(ctx))
	}
	if ctx.Err() != nil {
		return Outcome{}, failure(e.call, ended(ctx, err))
	}
	if errors.Is(err, ErrUnbound) {
		return Outcome{}, failure(e.call, err)
	}
	text, err := e.options.decide(e.call, err)
	if err != nil {
		return Outcome{}, failure(e.call, err)
	}
	message := e.noted(e.options.trim(Result{Text: text, Failed: true}, e.call).message(e.asked))
	e.emit(ctx, CallFinished{Call: e.asked, Answer: message})
	return Outcome{Message: message}, nil
}

// timed runs the tool with its time limit.
func (e *callRun) timed(ctx context.Context) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	limit := e.options.timeout()
	within, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		within, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	within = context.WithValue(within, callKey{}, e.call.Clone())
	if e.options.Emit != nil {
		within = context.WithValue(within, emitKey{}, e.options.Emit)
	}
	result, err := e.guarded(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil && !pauses(err) {
		return Result{}, fmt.Errorf("%w after %s: %w", ErrTimeout, limit, err)
	}
	return result, err
}

// guarded runs the tool and turns a panic into an error.
func (e *callRun) guarded(ctx context.Context) (result Result, err error) {
	defer caught(&err)
	return e.run(ctx)
}

// caught turns a panic into an error. Call it with defer.
func caught(err *error) {
	if value := recover(); value != nil {
		cause, _ := value.(error)
		*err = &PanicError{Value: fmt.Sprint(value), Stack: debug.Stack(), cause: cause}
	}
}

// shielded turns a panic of fn into an error of the call. A panic of a function in the
// options would otherwise end the program, because calls run in their own goroutines.
func shielded(call llm.ToolCall, fn func() (Outcome, error)) (Outcome, error) {
	var panicked error
	out, err := func() (Outcome, error) {
		defer caught(&panicked)
		return fn()
	}()
	if panicked != nil {
		return Outcome{}, failure(call, panicked)
	}
	return out, err
}

func (e *callRun) emit(ctx context.Context, event any) {
	if e.options.Emit != nil {
		e.options.Emit(ctx, event)
	}
}
