package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/weft-go/weft/state"
)

// ErrUnbound says that a tool needs a [Bound] value which the run does not have.
var ErrUnbound = errors.New("the run has no such value")

// A Bound is a field of a tool's arguments that comes from the run and not from
// the model: the user it acts for, the tenant, the thread. The model does not
// see it, and a call that sets it is refused. T says which value it is, so it is
// a type of its own:
//
//	type UserID string
//
//	type Query struct {
//		Text string `json:"text"`
//		User tools.Bound[UserID]
//	}
//
// The value is given by [Options].Bind or by [WithBound]. A call of a tool whose
// value is missing, or an empty string, fails with [ErrUnbound] before anything
// runs. A Bound stands in the struct itself, or in one that it embeds; anywhere
// else, behind a pointer too, it is a mistake that [NewSet] reports.
type Bound[T any] struct{ value T }

// Value returns the value. In the function of a tool it is the run's.
func (b Bound[T]) Value() T { return b.value }

// UnmarshalJSON refuses whatever a model may set.
func (*Bound[T]) UnmarshalJSON([]byte) error { return errors.New("it is set by the program") }

// BoundTo returns a Bound with a value, to test a tool's function.
func BoundTo[T any](value T) Bound[T] { return Bound[T]{value} }

func (b *Bound[T]) bind(ctx context.Context) (err error) {
	b.value, err = boundFrom[T](ctx)
	return err
}

// binder is a *Bound of any type.
type binder interface {
	bind(ctx context.Context) error
}

var binderType = reflect.TypeFor[binder]()

type boundKey[T any] struct{}

// WithBound returns a context that holds a value for the [Bound] fields of its
// type and for [BoundFrom]. Run a graph with it to say whom the run is for.
func WithBound[T any](ctx context.Context, value T) context.Context {
	return context.WithValue(ctx, boundKey[T]{}, value)
}

// BoundFrom returns the value of a type that the run has, and whether it has one
// that is not an empty string.
func BoundFrom[T any](ctx context.Context) (T, bool) {
	value, err := boundFrom[T](ctx)
	return value, err == nil
}

func boundFrom[T any](ctx context.Context) (T, error) {
	value, ok := ctx.Value(boundKey[T]{}).(T)
	if v := reflect.ValueOf(value); !ok || v.Kind() == reflect.String && v.Len() == 0 {
		return value, fmt.Errorf("%w: %s", ErrUnbound, reflect.TypeFor[T]())
	}
	return value, nil
}

// A Binding gives a run one value for [Bound] fields. It is made by [Bind].
type Binding struct {
	apply func(context.Context, state.View) (context.Context, error)
}

// Bind returns a binding that finds a value for each task: in what the caller
// put into the context, in the state that the node sees, which for a [CallNode]
// is what was sent to it, or where graph.FromContext says the node is running.
func Bind[T any](fn func(ctx context.Context, s state.View) (T, error)) Binding {
	return Binding{func(ctx context.Context, s state.View) (context.Context, error) {
		value, err := fn(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("tools: binding %s: %w", reflect.TypeFor[T](), err)
		}
		return WithBound(ctx, value), nil
	}}
}

// Bindings are the values that a node gives its tools, in order: one may read
// those before it.
type Bindings []Binding

// Apply returns a context that holds the values. [Node] and [CallNode] do so; it
// is for nodes that use [Set.Run] themselves.
func (b Bindings) Apply(ctx context.Context, s state.View) (context.Context, error) {
	for _, binding := range b {
		var err error
		if ctx, err = binding.apply(ctx, s); err != nil {
			return nil, err
		}
	}
	return ctx, nil
}

// Fix returns the tool with one of its arguments taken from the run, as a
// [Bound] of type T is. The model does not see the argument and can not set it.
// Fix is for tools made by [Raw], such as those of a server. A tool without such
// an argument is reported by [NewSet].
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
	t.needs = append(t.needs[:len(t.needs):len(t.needs)], func(ctx context.Context) error { return new(Bound[T]).bind(ctx) })
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

// boundFields finds the fields of a struct that are bound, with what they need.
func boundFields(in reflect.Type) (fields []reflect.StructField, needs []func(context.Context) error) {
	if in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct {
		return nil, nil
	}
	for _, field := range reflect.VisibleFields(in) {
		if isBound(field.Type) && field.IsExported() {
			fields = append(fields, field)
			needs = append(needs, func(ctx context.Context) error {
				return reflect.New(field.Type).Interface().(binder).bind(ctx)
			})
		}
	}
	return fields, needs
}
