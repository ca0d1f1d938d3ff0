package tools

import (
	"context"

	"github.com/weft-go/weft/llm"
)

type wrapKey struct{}

// A WrapFunc runs a tool for a call. It calls run with its context or a derived one, and
// returns the result and the error of run, or replaces them.
type WrapFunc func(ctx context.Context, call llm.ToolCall, run func(context.Context) (Result, error)) (Result, error)

// WithWrap returns a context in which a function runs around each tool, for example to trace it.
// The function of an outer context is the outermost.
//
// The function gets a call after the check of its arguments, and after the approval if the call needs
// one. For a call of invoke_tool, it gets the call of the invoked tool. It runs once for all
// attempts of [WithRetry], and not for calls that are answered without a tool. For a sub-agent of package agent, run
// hands over the task and returns a nil error before the sub-agent begins.
//
// Each call of WithWrap adds a function: after two calls with the same function, the function runs twice. Tasks of a
// subgraph, and of an agent in a tool, inherit the context of the task around them. So a hook or a middleware of a graph
// must not wrap a context that it has already wrapped. Otherwise the function runs once for each level: see [callbacks].
//
// [callbacks]: https://github.com/weft-go/weft/blob/main/docs/howto/observe.md#with-functions-of-your-own
func WithWrap(ctx context.Context, wrap WrapFunc) context.Context {
	if outer, ok := ctx.Value(wrapKey{}).(WrapFunc); ok {
		inner := wrap
		wrap = func(ctx context.Context, call llm.ToolCall, run func(context.Context) (Result, error)) (Result, error) {
			return outer(ctx, call, func(ctx context.Context) (Result, error) { return inner(ctx, call, run) })
		}
	}
	return context.WithValue(ctx, wrapKey{}, wrap)
}

// wrapped runs the tool inside the function that [WithWrap] put into the context.
func (e *callRun) wrapped(ctx context.Context) (Result, error) {
	if wrap, ok := ctx.Value(wrapKey{}).(WrapFunc); ok {
		return wrap(ctx, e.call.Clone(), e.tried)
	}
	return e.tried(ctx)
}
