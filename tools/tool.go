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

// A Tool is a function that a model may call. [New] and [Raw] make tools. [NewSet] reports
// a zero Tool as a mistake.
type Tool struct {
	spec        llm.ToolSpec
	annotations Annotations
	schema      *schema.Schema
	// load decodes arguments that fit the schema, and returns a function that runs the tool
	// with them.
	load func(arguments json.RawMessage) (func(context.Context) (Result, error), error)
	// needs are the bound values of the tool.
	needs []need
	// invokes is set for invoke_tool only. It returns the call that a call of the tool
	// requests.
	invokes func(call llm.ToolCall) (invocation, error)
	// in is the type of the arguments.
	in reflect.Type
	// preview returns the effect of a call for a question, or is nil.
	preview func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)
	output  json.RawMessage
	behind  *Set  // the tools that invoke_tool can invoke, or nil
	err     error // all mistakes of the tool, or nil
}

// New returns a tool. The name has 1 to 64 letters, digits, underscores or dashes. The
// description tells the model what the tool does and when to use it. In is a struct, or a
// map with string keys; the schema of the arguments is inferred from it. If Out is string,
// the model gets the result unchanged. A [Result] describes the answer itself. A result of
// any other type is encoded as JSON.
//
// [NewSet] and [Tool.Err] report a name, description or type that cannot be used.
func New[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	t := Tool{spec: llm.ToolSpec{Name: name, Description: description}, in: reflect.TypeFor[In]()}
	s, err := inferSchema(t.in)
	if err == nil {
		t.spec.Schema, t.schema = s.Text(), s
	}
	if t.err = t.check(errors.Join(err, checkOutput[Out]()), fn == nil); t.err != nil {
		return t
	}
	t.output = outputSchema(reflect.TypeFor[Out]())
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

// Raw returns a tool whose schema is given as JSON, such as a tool of a server. The schema
// must describe an object. fn is called with arguments that fit the schema and have no
// duplicate keys. It may keep and change them.
//
// [NewSet] and [Tool.Err] report mistakes in the specification.
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

// Spec returns the specification of the tool for a model. The result is the caller's own.
func (t Tool) Spec() llm.ToolSpec {
	spec := t.spec
	spec.Schema = bytes.Clone(spec.Schema)
	return spec
}

// Err returns all mistakes of the tool, or nil. [NewSet] returns them too.
func (t Tool) Err() error {
	if t.err == nil && t.load == nil {
		return errors.New("tools: the tool was not made by New or Raw")
	}
	return t.err
}

// Check checks arguments and returns them in the form that the tool gets: each key once and
// sorted, whole numbers as integers, and no null for an optional value whose schema does not
// accept null. The error describes the problems for the model.
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

// prepared checks arguments and returns a function that runs the tool with them. It turns a
// panic into an error, because UnmarshalJSON of an argument type may panic.
func (t Tool) prepared(arguments json.RawMessage) (_ json.RawMessage, run func(context.Context) (Result, error), err error) {
	defer caught(&err)
	if arguments, err = checkArguments(t.schema, arguments); err != nil {
		return nil, nil, err
	}
	run, err = t.load(arguments)
	return arguments, run, err
}

// check returns all mistakes of the tool: typeErr, and mistakes in its name, description
// and function.
func (t Tool) check(typeErr error, noFunction bool) error {
	var mistakes []error
	add := func(err error) { mistakes = append(mistakes, fmt.Errorf("tools: tool %q: %w", t.spec.Name, err)) }
	named := llm.ToolSpec{Name: t.spec.Name, Schema: json.RawMessage(`{}`)} // typeErr covers the schema
	if err := named.Validate(); err != nil {
		mistakes = append(mistakes, fmt.Errorf("tools: %w", err))
	}
	if strings.TrimSpace(t.spec.Description) == "" {
		add(errors.New("no description"))
	}
	if noFunction {
		add(errors.New("no function"))
	}
	if typeErr != nil {
		add(typeErr)
	}
	return errors.Join(mistakes...)
}

// checkOutput encodes the zero value of Out, and returns an error if JSON does not support
// its type, such as a channel. It ignores other errors.
func checkOutput[Out any]() (err error) {
	if reflect.TypeFor[Out]() == reflect.TypeFor[Result]() {
		return nil
	}
	// Ignore a MarshalJSON that panics for the zero value: it may work for other values.
	defer func() { _ = recover() }()
	var out Out
	_, err = json.Marshal(out)
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		return nil
	}
	return fmt.Errorf("the result cannot be encoded as JSON: %w", err)
}
