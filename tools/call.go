package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/weft-go/weft/llm"
)

type callKey struct{}

// CallFrom returns the call that a tool's function was called for, and whether
// ctx is that of one. Its id is the tool-call id.
func CallFrom(ctx context.Context) (llm.ToolCall, bool) {
	call, ok := ctx.Value(callKey{}).(llm.ToolCall)
	return call.Clone(), ok
}

// Call calls a tool and returns the message that answers the call. A tool that
// does not exist and arguments that do not fit its schema are answered with an
// error that the model can act on, and so is a tool's own failure unless
// o.OnError says otherwise. o.MaxParallel has no meaning here.
//
// It returns an error only when the tool waits for a person, when ctx is done,
// which the error then wraps, or when o.OnError or o.Once returned one.
func (s *Set) Call(ctx context.Context, call llm.ToolCall, o Options) (llm.Message, error) {
	if o.Once == nil {
		return s.answer(ctx, call, o)
	}
	return o.Once(ctx, call.ID, func(ctx context.Context) (llm.Message, error) {
		return s.answer(ctx, call, o)
	})
}

func (s *Set) answer(ctx context.Context, call llm.ToolCall, o Options) (llm.Message, error) {
	t, ok := s.Lookup(call.Name)
	if !ok {
		return llm.ToolError(call, s.unknown(call.Name)), nil
	}
	result, err := t.call(ctx, call, o)
	if err == nil {
		return result.message(call), nil
	}
	if bad, ok := errors.AsType[*argumentsError](err); ok {
		return llm.ToolError(call, fmt.Sprintf("invalid arguments for %s: %s", call.Name, bad)), nil
	}
	if pauses(err) {
		return llm.Message{}, err
	}
	if ctx.Err() != nil {
		return llm.Message{}, failure(call, ended(ctx, err))
	}
	answer, err := o.decide(call, err)
	if err != nil {
		return llm.Message{}, failure(call, err)
	}
	return llm.ToolError(call, answer), nil
}

func failure(call llm.ToolCall, err error) error {
	return fmt.Errorf("tools: %s (call %s): %w", call.Name, call.ID, err)
}

// ended returns err so that it wraps the reason for which ctx is done.
func ended(ctx context.Context, err error) error {
	for _, why := range []error{context.Cause(ctx), ctx.Err()} {
		if !errors.Is(err, why) {
			err = fmt.Errorf("%w: %w", why, err)
		}
	}
	return err
}

func (s *Set) unknown(name string) string {
	names := s.Names()
	if len(names) == 0 {
		return fmt.Sprintf("there is no tool %q; there are no tools", name)
	}
	return fmt.Sprintf("there is no tool %q; the tools are %s", name, strings.Join(names, ", "))
}

// call runs the tool with its time limit.
func (t Tool) call(ctx context.Context, call llm.ToolCall, o Options) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	arguments, err := t.schema.check(call.Arguments)
	if err != nil {
		return Result{}, err
	}
	limit := o.timeout()
	within, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		within, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	within = context.WithValue(within, callKey{}, call.Clone())
	if o.Emit != nil {
		within = context.WithValue(within, emitKey{}, o.Emit)
	}
	result, err := t.guarded(within, arguments)
	if err != nil && within.Err() != nil && ctx.Err() == nil && !pauses(err) {
		return Result{}, fmt.Errorf("%w after %s: %w", ErrTimeout, limit, err)
	}
	return result, err
}

// guarded runs the tool and makes an error of its panic.
func (t Tool) guarded(ctx context.Context, arguments json.RawMessage) (result Result, err error) {
	defer func() {
		if value := recover(); value != nil {
			cause, _ := value.(error)
			err = &PanicError{Value: fmt.Sprint(value), Stack: debug.Stack(), cause: cause}
		}
	}()
	run, err := t.load(arguments)
	if err != nil {
		return Result{}, err
	}
	return run(ctx)
}

// CallAll calls tools at the same time, at most o.MaxParallel of them, and
// returns their answers in the order of the calls. Every call runs to its end,
// whatever becomes of the others. When any returned an error, see [Set.Call],
// CallAll returns no answers, and all the errors joined.
func (s *Set) CallAll(ctx context.Context, calls []llm.ToolCall, o Options) ([]llm.Message, error) {
	answers := make([]llm.Message, len(calls))
	failures := make([]error, len(calls))
	free := make(chan struct{}, o.parallel(len(calls)))
	var wg sync.WaitGroup
	for i, call := range calls {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			failures[i] = failure(call, errExit) // unless the call comes back
			answers[i], failures[i] = s.Call(ctx, call, o)
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	return answers, nil
}
