package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-go/weft/state"
)

// ErrUnbound is returned when a run does not have a [Bound] value that a tool needs.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolserrunbound.
var ErrUnbound = errors.New("the run has no such value")

// A Bound is an argument of a tool that the program sets and the model cannot see, such as
// the user, the tenant or the thread. A call in which the model sets it is answered with an
// error. T identifies the value, so declare a type for each value:
//
//	type UserID string
//
//	type Query struct {
//		Text string `json:"text"`
//		User tools.Bound[UserID]
//	}
//
// [Options].Bind or [WithBound] gives the value. A call whose value is missing or is an
// empty string fails with [ErrUnbound] before any tool runs. A Bound must be a field of the
// argument struct or of a struct that it embeds. [NewSet] reports a Bound in any other
// place, and a pointer to a Bound.
type Bound[T any] struct{ value T }

// Value returns the value of the run.
func (b Bound[T]) Value() T { return b.value }

// UnmarshalJSON returns an error, because a model must not set the value.
func (*Bound[T]) UnmarshalJSON([]byte) error { return errors.New("it is set by the program") }

// BoundTo returns a Bound with a value, for tests of a tool's function.
func BoundTo[T any](value T) Bound[T] { return Bound[T]{value} }

func (b *Bound[T]) bind(ctx context.Context) (err error) {
	b.value, err = boundFrom[T](ctx)
	return err
}

func (b *Bound[T]) describe(name string) (BoundValue, string, error) {
	return describeBound(name, b.value, &b.value)
}

// binder is a *Bound of any type.
type binder interface {
	bind(ctx context.Context) error
	describe(name string) (shown BoundValue, exact string, err error)
}

// A need is a bound value that a tool needs. Its name is the name of the field or argument.
type need struct {
	name string
	new  func() binder
}

// find returns an error if ctx does not have the value.
func (n need) find(ctx context.Context) error { return n.new().bind(ctx) }

// describe returns the value for a question, and the exact text that an approval binds.
func (n need) describe(ctx context.Context) (shown BoundValue, exact string, err error) {
	b := n.new()
	if err := b.bind(ctx); err != nil {
		return shown, "", err
	}
	return b.describe(n.name)
}

var binderType = reflect.TypeFor[binder]()

type boundKey[T any] struct{}

// WithBound returns a context with a value for [Bound] fields of type T and for
// [BoundFrom]. Run a graph with this context to set, for example, the user of the run.
func WithBound[T any](ctx context.Context, value T) context.Context {
	return context.WithValue(ctx, boundKey[T]{}, value)
}

// BoundFrom returns the run's value of type T. The second result is false if there is no
// such value or if it is an empty string.
func BoundFrom[T any](ctx context.Context) (T, bool) {
	value, err := boundFrom[T](ctx)
	return value, err == nil
}

func boundFrom[T any](ctx context.Context) (T, error) {
	value, ok := ctx.Value(boundKey[T]{}).(T)
	if v := reflect.ValueOf(value); !ok || v.Kind() == reflect.String && v.Len() == 0 {
		return value, &unboundError{reflect.TypeFor[T](), ok}
	}
	return value, nil
}

// An unboundError is the ErrUnbound of one type.
type unboundError struct {
	of    reflect.Type
	empty bool // the run has an empty string
}

func (e *unboundError) Error() string {
	if e.empty {
		return fmt.Sprintf("%v: the %s of the run is an empty string; check the function of tools.Bind, or the value of tools.WithBound", ErrUnbound, e.of)
	}
	return fmt.Sprintf("%v: %s; set it with tools.WithBound in the context of the run, or compute it with tools.Bind", ErrUnbound, e.of)
}

func (e *unboundError) Unwrap() error { return ErrUnbound }

// A Binding finds one value for [Bound] fields. [Bind] returns one.
type Binding struct {
	apply func(context.Context, state.View) (context.Context, error)
}

// Bind returns a binding that calls fn before each task that calls tools. fn reads the
// value from the context of the caller, from the state that the node sees, or from
// graph.FromContext. The state of a [CallNode] is the state that was sent to it.
func Bind[T any](fn func(ctx context.Context, s state.View) (T, error)) Binding {
	return Binding{func(ctx context.Context, s state.View) (context.Context, error) {
		value, err := fn(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("tools: binding %s: %w", reflect.TypeFor[T](), err)
		}
		return WithBound(ctx, value), nil
	}}
}

// Bindings are the bindings of a node, in order. The function of a binding can read the
// values of earlier bindings with [BoundFrom].
type Bindings []Binding

// Apply returns a context with the values of all bindings. [Node] and [CallNode] call it. A
// node that uses [Set.Run] calls it itself.
func (b Bindings) Apply(ctx context.Context, s state.View) (context.Context, error) {
	for _, binding := range b {
		var err error
		if ctx, err = binding.apply(ctx, s); err != nil {
			return nil, err
		}
	}
	return ctx, nil
}

// Fix returns a copy of the tool in which the run sets one argument, like a [Bound] of type
// T. The model does not see the argument and cannot set it. Fix is for tools made by [Raw],
// such as the tools of a server. [NewSet] reports a tool that has no such argument.
func Fix[T any](t Tool, argument string) Tool {
	if t.Err() != nil {
		return t
	}
	whole, load := t.schema, t.load
	if t.schema, t.err = whole.Without(argument); t.err != nil {
		t.err = fmt.Errorf("tools: tool %q: %w", t.Name(), t.err)
		return t
	}
	t.spec.Schema = t.schema.Text()
	t.needs = append(slices.Clip(t.needs), need{argument, func() binder { return new(Bound[T]) }})
	t.load = func(arguments json.RawMessage) (func(context.Context) (Result, error), error) {
		return func(ctx context.Context) (Result, error) {
			value, err := boundFrom[T](ctx)
			if err != nil {
				return Result{}, err
			}
			filled, err := fillArgument(whole, arguments, argument, value)
			if err != nil {
				return Result{}, fmt.Errorf("argument %s, set by the program: %w", argument, err)
			}
			run, err := load(filled)
			if err != nil {
				return Result{}, err
			}
			return run(ctx)
		}, nil
	}
	return t
}

// boundFields returns the bound fields of a struct type, and a need for each.
func boundFields(in reflect.Type) (fields []reflect.StructField, needs []need) {
	if in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct {
		return nil, nil
	}
	for _, field := range reflect.VisibleFields(in) {
		if isBound(field.Type) && field.IsExported() {
			fields = append(fields, field)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				name = field.Name
			}
			needs = append(needs, need{name, func() binder { return reflect.New(field.Type).Interface().(binder) }})
		}
	}
	return fields, needs
}
