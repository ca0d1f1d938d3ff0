package llm

import "context"

type wrapKey struct{}

// WithWrap returns a context in which [Stream], and so [Generate] and [As], apply a wrapper to
// each model that they are given, such as [Trace]. The wrapper of an outer context is the outermost.
// For each request, the wrapper is called once, so what it returns must keep no state between
// requests, as [Limit] does.
func WithWrap(ctx context.Context, wrap func(Model) Model) context.Context {
	if outer, ok := ctx.Value(wrapKey{}).(func(Model) Model); ok {
		inner := wrap
		wrap = func(m Model) Model { return outer(inner(m)) }
	}
	return context.WithValue(ctx, wrapKey{}, wrap)
}

// wrapped returns the model with the wrapper of the context.
func wrapped(ctx context.Context, m Model) Model {
	if wrap, ok := ctx.Value(wrapKey{}).(func(Model) Model); ok && m != nil {
		return wrap(m)
	}
	return m
}
