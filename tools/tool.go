package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/weft-go/weft/internal/schema"
	"github.com/weft-go/weft/llm"
)

// A Tool is a function that a model may call. It is made by [New] or [Raw]; the
// zero Tool is refused by [NewSet].
type Tool struct {
	spec        llm.ToolSpec
	annotations Annotations
	schema      *schema.Schema
	// load takes arguments that the schema accepts, and returns the call that
	// is then ready to be made.
	load func(arguments json.RawMessage) (func(context.Context) (Result, error), error)
	// needs find out whether the run has the values that the tool is to get.
	needs []func(context.Context) error
	// invokes, when not nil, says which call of another tool a call stands for.
	invokes func(call llm.ToolCall) (invocation, error)
	err     error // what is wrong with the tool
}

// New returns a tool. The name is 1 to 64 letters, digits, underscores or
// dashes, and the description says to the model what the tool does and when to
// use it. In is a struct, or a map with string keys; its fields make the
// schema of the arguments. A result of type string is passed to the model as it
// is, a [Result] as it says, any other as JSON.
//
// A name, a description or a type that can not be used is reported by
// [NewSet].
func New[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	t := Tool{spec: llm.ToolSpec{Name: name, Description: description}}
	s, err := inferSchema(reflect.TypeFor[In]())
	if err == nil {
		t.spec.Schema, t.schema = s.Text(), s
	}
	if t.err = t.check(errors.Join(err, checkOutput[Out]()), fn == nil); t.err != nil {
		return t
	}
	bound, needs := boundFields(reflect.TypeFor[In]())
	t.needs = needs
	t.load = func(arguments json.RawMessage) (func(context.Context) (Result, error), error) {
		var in In
		if err := s.Decode(arguments, &in); err != nil {
			return nil, err
		}
		return func(ctx context.Context) (Result, error) {
			if err := fillBound(ctx, reflect.ValueOf(&in), bound); err != nil {
				return Result{}, err
			}
			out, err := fn(ctx, in)
			if err != nil {
				return Result{}, err
			}
			return resultOf(out)
		}, nil
	}
	return t
}

// Raw returns a tool whose schema is known as JSON and not as a type: that of a
// tool on a server, or one read from a file. The schema is that of an object. fn
// gets arguments that it accepts, without keys that come twice; they are the
// function's own.
//
// What is wrong with the specification is reported by [NewSet], and by
// [Tool.Err] for a tool alone.
func Raw(spec llm.ToolSpec, fn func(ctx context.Context, arguments json.RawMessage) (Result, error)) Tool {
	t := Tool{spec: spec}
	s, err := schema.Parse(spec.Schema, subject)
	if err == nil {
		t.spec.Schema, t.schema = s.Text(), s
	}
	if t.err = t.check(err, fn == nil); t.err != nil {
		return t
	}
	t.load = func(arguments json.RawMessage) (func(context.Context) (Result, error), error) {
		return func(ctx context.Context) (Result, error) { return fn(ctx, bytes.Clone(arguments)) }, nil
	}
	return t
}

// Name returns the tool's name.
func (t Tool) Name() string { return t.spec.Name }

// Spec returns what a model is told about the tool. The result is the caller's
// own.
func (t Tool) Spec() llm.ToolSpec {
	spec := t.spec
	spec.Schema = bytes.Clone(spec.Schema)
	return spec
}

// Err returns what is wrong with the tool, or nil. [NewSet] reports it as well.
func (t Tool) Err() error {
	if t.err == nil && t.load == nil {
		return errors.New("tools: a tool that was not made by New or Raw")
	}
	return t.err
}

// Check reports what is wrong with arguments, in words for the model. It returns
// them as the tool would get them: each key once, sorted, whole numbers as
// integers, and without nulls for what is optional.
func (t Tool) Check(arguments json.RawMessage) (json.RawMessage, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	arguments, _, err := t.prepared(arguments)
	if err != nil {
		return nil, fmt.Errorf("tools: invalid arguments for %s: %w", t.Name(), err)
	}
	return arguments, nil
}

// prepared checks arguments and makes the call ready. Types of arguments read
// themselves, and may panic at what a model writes.
func (t Tool) prepared(arguments json.RawMessage) (_ json.RawMessage, run func(context.Context) (Result, error), err error) {
	defer caught(&err)
	if arguments, err = checkArguments(t.schema, arguments); err != nil {
		return nil, nil, err
	}
	run, err = t.load(arguments)
	return arguments, run, err
}

// check returns everything that is wrong with the tool, given what is with its
// types.
func (t Tool) check(types error, noFunction bool) error {
	var mistakes []error
	add := func(err error) { mistakes = append(mistakes, fmt.Errorf("tools: tool %q: %w", t.spec.Name, err)) }
	named := llm.ToolSpec{Name: t.spec.Name, Schema: json.RawMessage(`{}`)} // the schema is one of types
	if err := named.Validate(); err != nil {
		mistakes = append(mistakes, fmt.Errorf("tools: %w", err))
	}
	if strings.TrimSpace(t.spec.Description) == "" {
		add(errors.New("no description"))
	}
	if noFunction {
		add(errors.New("no function"))
	}
	if types != nil {
		add(types)
	}
	return errors.Join(mistakes...)
}

// checkOutput finds a type of result that JSON can not hold, by its zero value.
func checkOutput[Out any]() (err error) {
	if reflect.TypeFor[Out]() == reflect.TypeFor[Result]() {
		return nil
	}
	// A MarshalJSON that can not take a zero value says nothing about others.
	defer func() { _ = recover() }()
	var out Out
	_, err = json.Marshal(out)
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		return nil
	}
	return fmt.Errorf("the result can not be written as JSON: %w", err)
}
