package llm

import "context"

type (
	wrapKey struct{}
	eachKey struct{} // true if a fallback must wrap its models
)

// WithWrap returns a context in which [Stream], and so [Generate] and [As], apply a wrapper to
// each model that they are given, such as [Trace]. The wrapper of an outer context is the outermost.
// The wrapper is called once for each request to a model, so the model that it returns cannot keep state between
// requests: a [Limit], for example, would limit nothing. A [Fallback] is not wrapped, even inside a [Retry], [Limit],
// [IdleTimeout], [Trace] or [Log]. Instead, each model that it asks is wrapped, and again in each attempt of a [Retry]
// around the Fallback.
//
// A wrapper that ignores its argument and returns another model drops the wrappers of inner contexts, such as wrappers
// that count usage. A middleware of an agent can set another model in the ModelCall: then all wrappers apply.
//
// Wrappers add up: two calls of WithWrap with the same wrapper apply it twice. Tasks of a subgraph, and of an agent in a
// tool, inherit the context of the task around them. So a hook or a middleware of a graph must not wrap a context that it
// has already wrapped. Otherwise its wrapper runs once for each level in one request: see [callbacks].
//
// [callbacks]: https://github.com/weft-go/weft/blob/main/docs/howto/observe.md#with-functions-of-your-own
func WithWrap(ctx context.Context, wrap func(Model) Model) context.Context {
	if outer, ok := ctx.Value(wrapKey{}).(func(Model) Model); ok {
		inner := wrap
		wrap = func(m Model) Model { return outer(inner(m)) }
	}
	return context.WithValue(ctx, wrapKey{}, wrap)
}

// wrapped returns the model with the wrapper of the context, and the context for its request. A fallback is not
// wrapped: the context makes it wrap its models.
func wrapped(ctx context.Context, m Model) (context.Context, Model) {
	wrap, ok := ctx.Value(wrapKey{}).(func(Model) Model)
	switch {
	case !ok || m == nil:
		return ctx, m
	case isFallback(m):
		return context.WithValue(ctx, eachKey{}, true), m
	}
	return ctx, wrap(m)
}

// wrappedEach does the same as wrapped, for a model that a fallback asks.
func wrappedEach(ctx context.Context, m Model) (context.Context, Model) {
	if each, _ := ctx.Value(eachKey{}).(bool); !each {
		return ctx, m
	}
	return wrapped(context.WithValue(ctx, eachKey{}, false), m)
}
