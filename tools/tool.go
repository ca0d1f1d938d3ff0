package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/weft-go/weft/llm"
)

// A Tool is a function that a model may call. It is made by [New]; the zero
// Tool is refused by [NewSet].
type Tool struct {
	spec llm.ToolSpec
	// run takes arguments as the model wrote them. An error of type
	// *argumentsError says that the function has not run.
	run func(ctx context.Context, arguments json.RawMessage) (string, error)
	err error // what is wrong with the tool
}

// New returns a tool. The name is 1 to 64 letters, digits, underscores or
// dashes, and the description says to the model what the tool does and when to
// use it. In is a struct, or a map with string keys; its fields make the
// schema of the arguments. A result of type string is passed to the model as it
// is, any other as JSON.
//
// A name, a description or a type that can not be used is reported by
// [NewSet].
func New[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	t := Tool{spec: llm.ToolSpec{Name: name, Description: description}}
	schema, err := newSchema(reflect.TypeFor[In]())
	if err == nil {
		t.spec.Schema = schema.text
		err = checkOutput[Out]()
	}
	if t.err = t.check(err, fn == nil); t.err != nil {
		return t
	}
	t.run = func(ctx context.Context, arguments json.RawMessage) (string, error) {
		var in In
		if err := schema.decode(arguments, &in); err != nil {
			return "", err
		}
		out, err := fn(ctx, in)
		if err != nil {
			return "", err
		}
		return render(out)
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

// check returns what is wrong with the tool, given what is with its types.
func (t Tool) check(types error, noFunction bool) error {
	switch {
	case types != nil:
		return fmt.Errorf("tools: tool %q: %w", t.spec.Name, types)
	case noFunction:
		return fmt.Errorf("tools: tool %q: no function", t.spec.Name)
	case strings.TrimSpace(t.spec.Description) == "":
		return fmt.Errorf("tools: tool %q: no description", t.spec.Name)
	}
	if err := t.spec.Validate(); err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	return nil
}

// checkOutput finds a type of result that JSON can not hold, by its zero value.
func checkOutput[Out any]() (err error) {
	// A MarshalJSON that can not take a zero value says nothing about others.
	defer func() { _ = recover() }()
	var out Out
	_, err = json.Marshal(out)
	if _, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		return nil
	}
	return fmt.Errorf("the result can not be written as JSON: %w", err)
}

// render turns a result into what the model reads.
func render(out any) (string, error) {
	if text, ok := out.(string); ok {
		return text, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return "", fmt.Errorf("the result can not be written as JSON: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
