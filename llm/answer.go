package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/weft-go/weft/internal/schema"
)

// OneOf makes a struct a union, so that a model may answer with one of several types. The
// struct has a blank field of type OneOf, and a pointer for each alternative:
//
//	type Step struct {
//		_      llm.OneOf
//		Search *Search `json:"search" jsonschema:"look for more sources"`
//		Report *Report `json:"report" jsonschema:"the sources are sufficient"`
//	}
//
// In JSON, a union is an object with exactly one of these fields, such as
// {"search":{"query":"tides"}}. [As] and the tools of package tools reject an object with
// none or several of them, and name the alternatives. A checked union therefore has
// exactly one pointer that is not nil.
type OneOf struct{}

// An AnswerError reports that a model did not give an answer of the wanted type. It wraps
// [ErrMalformed] if the answer did not fit. Otherwise it wraps the error of a request that
// failed after the model had written a part of the answer.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmanswererror.
type AnswerError struct {
	// Type is the wanted Go type.
	Type string
	// Text is the last text of the model, or the arguments if it called the answer tool.
	Text string
	// Problems lists why the text does not fit. It may be empty if a request failed.
	Problems []string
	// Err is the wrapped error.
	Err error
}

func (e *AnswerError) Error() string {
	text := "llm: as " + e.Type + ": "
	if len(e.Problems) > 0 {
		text += strings.Join(e.Problems, "; ") + ": "
	}
	return text + e.Err.Error()
}

// Unwrap returns e.Err.
func (e *AnswerError) Unwrap() error { return e.Err }

// An AnswerTool is a tool that a model calls to answer with a value of type T. [As] offers
// the model such a tool. A loop that calls tools can offer one in addition to its own
// tools, and so needs no separate request for the answer. An AnswerTool is safe for
// concurrent use.
type AnswerTool[T any] struct {
	name string
	form *form
}

const answerName = "answer"

// NewAnswerTool returns an answer tool. An empty name means "answer". If T cannot be read
// from JSON, the error wraps [ErrInvalid].
func NewAnswerTool[T any](name string) (*AnswerTool[T], error) {
	if name == "" {
		name = answerName
	}
	f, err := newForm(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return &AnswerTool[T]{name, f}, nil
}

// Spec returns the tool for a [Request].
func (t *AnswerTool[T]) Spec() ToolSpec { return answerSpec(t.name, t.form.schema.Text()) }

// Read decodes the answer from a call of the tool. If the answer does not fit, the error is
// an [*AnswerError]. Pass its Problems to the model, so that it can correct the answer.
func (t *AnswerTool[T]) Read(call ToolCall) (T, error) {
	var answer T
	if problems := t.form.readCall(call, &answer); len(problems) > 0 {
		return *new(T), t.form.failure(call.Text(), problems)
	}
	return answer, nil
}

func answerSpec(name string, schema json.RawMessage) ToolSpec {
	return ToolSpec{Name: name, Description: "Gives the answer. Call it once, with the whole answer.", Schema: schema}
}

// A form holds a type of answers and its schemas.
type form struct {
	t      reflect.Type
	schema *schema.Schema // of the arguments, which are an object
	inner  *schema.Schema // of t, if the answer is a field of the arguments; else nil
}

// wrapping is the name of the field for an answer that is not an object.
const wrapping = "answer"

func newForm(t reflect.Type) (*form, error) {
	s, err := schema.Infer(t, schema.Options{Subject: "the answer", OneOf: reflect.TypeFor[OneOf]()})
	f := &form{t: t, schema: s}
	if err == nil && !s.IsObject() {
		f.inner = s
		f.schema, err = s.Wrap(wrapping)
	}
	if err != nil {
		return nil, fmt.Errorf("llm: as: %w: %w", err, ErrInvalid)
	}
	return f, nil
}

func (f *form) failure(text string, problems []string) *AnswerError {
	return &AnswerError{Type: f.t.String(), Text: text, Problems: problems, Err: ErrMalformed}
}

// readCall decodes the arguments of a call into the value to which answer points. It
// returns the reasons why they do not fit.
func (f *form) readCall(call ToolCall, answer any) []string {
	if call.Invalid != "" {
		return []string{"the arguments are not JSON: " + call.Invalid}
	}
	return f.decode([]byte(call.Text()), answer)
}

// decode decodes a JSON text into the value to which answer points. It returns the reasons
// why the text does not fit.
func (f *form) decode(text []byte, answer any) []string {
	reflect.ValueOf(answer).Elem().SetZero()
	value, err := f.schema.Check(text)
	s := f.schema
	if f.inner != nil {
		s = f.inner
		if bare, other := s.Check(text); err != nil && other == nil {
			value, err = bare, nil // many models omit the object around the answer
		} else if err == nil {
			var object map[string]json.RawMessage
			err = json.Unmarshal(value, &object)
			value = object[wrapping]
		}
	}
	if err == nil {
		err = s.Decode(value, answer)
	}
	if err == nil {
		err = validate(answer)
	}
	switch e, ok := errors.AsType[*schema.Error](err); {
	case ok:
		return e.Problems
	case err != nil:
		return []string{err.Error()}
	}
	return nil
}

// validate calls the method Validate of answer, or else of a value that it points to.
func validate(answer any) error {
	for v := reflect.ValueOf(answer); v.Kind() == reflect.Pointer && !v.IsNil(); v = v.Elem() {
		if judge, ok := v.Interface().(interface{ Validate() error }); ok {
			return judge.Validate()
		}
	}
	return nil
}
