package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/weft-go/weft/llm"
)

// An errand is one call on its way: what was asked, what it means, and what is
// known of its answer.
type errand struct {
	asked   llm.ToolCall // as the model made it, which the answer names
	call    llm.ToolCall // of the tool that runs, with the arguments it gets
	tool    Tool
	options *Options
	run     func(context.Context) (Result, error)
	gate    *gate    // not nil when a person has to approve
	answer  *Outcome // known before anything runs
	edited  bool     // a person changed the arguments
	err     error
}

// refuse makes the errand's answer one that says what is wrong with the call.
func (e *errand) refuse(why string) *errand {
	e.answer = &Outcome{Message: e.options.trim(Result{Text: why, Failed: true}, e.call).message(e.asked)}
	return e
}

// remembered runs the errand, unless Once knows its answer.
func (e *errand) remembered(ctx context.Context) (Outcome, error) {
	switch {
	case e.answer != nil:
		e.emit(ctx, CallFinished{Call: e.asked, Answer: e.answer.Message})
		return *e.answer, nil
	case e.options.Once == nil || e.options.forget:
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

// carryOut runs the tool and answers the call.
func (e *errand) carryOut(ctx context.Context) (Outcome, error) {
	if e.gate != nil {
		if err := e.begin(ctx); err != nil {
			return Outcome{}, failure(e.call, err)
		}
		if e.answer != nil { // asked again, and not approved
			return *e.answer, nil
		}
	}
	e.emit(ctx, CallStarted{Call: e.call})
	result, err := e.timed(ctx)
	if err != nil {
		return e.failed(ctx, err)
	}
	message := e.noted(e.options.trim(result, e.call).message(e.asked))
	if err := message.Validate(); err != nil {
		return e.failed(ctx, fmt.Errorf("the result can not be passed on: %w", err))
	}
	e.emit(ctx, CallFinished{Call: e.asked, Answer: message})
	return Outcome{Message: message, Update: result.Update}, nil
}

// failed decides what becomes of a tool's error.
func (e *errand) failed(ctx context.Context, err error) (Outcome, error) {
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
func (e *errand) timed(ctx context.Context) (Result, error) {
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

// guarded runs the tool and makes an error of its panic.
func (e *errand) guarded(ctx context.Context) (result Result, err error) {
	defer caught(&err)
	return e.run(ctx)
}

// caught makes an error of a panic, where it is deferred.
func caught(err *error) {
	if value := recover(); value != nil {
		cause, _ := value.(error)
		*err = &PanicError{Value: fmt.Sprint(value), Stack: debug.Stack(), cause: cause}
	}
}

// shielded makes a failure of a call of the panic of a function of the options:
// on a goroutine of its own it would end the program.
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

func (e *errand) emit(ctx context.Context, event any) {
	if e.options.Emit != nil {
		e.options.Emit(ctx, event)
	}
}
