package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm/internal/shape"
)

// As asks a model for an answer of type T: a struct, a slice, a map, or anything
// else that JSON can be read into. It returns the answer and what it cost.
//
//	type Verdict struct {
//		Score  int    `json:"score" jsonschema:"0 to 10"`
//		Reason string `json:"reason"`
//	}
//	verdict, usage, err := llm.As[Verdict](ctx, model, request)
//
// A JSON Schema is made of T: a field is required unless it is a pointer, a map,
// an interface or has omitempty or omitzero, and its jsonschema tag describes it. The model
// is made to answer by calling a tool of that schema, which every provider of
// tools knows; with r.Format of type [FormatSchema] or [FormatJSON] it is told
// to write JSON instead. A schema given in r.Format is sent in place of T's. An
// answer is found in a text too, when the model says it there.
//
// What comes back is checked strictly against T's schema, decoded, and when *T
// has a method Validate() error, asked that. When something is wrong the model
// is shown what it is and asked once more; then As gives up with an error that
// wraps [ErrMalformed] and says what is still wrong. T may be a pointer to a type
// with such a method. A T that can not be read from JSON is an [ErrInvalid]. Otherwise As fails as [Generate] does. The usage
// is that of both turns, of a turn that failed too as far as it is known.
func As[T any](ctx context.Context, m Model, r Request) (T, Usage, error) {
	var answer T
	q, err := newQuestion(reflect.TypeFor[T](), r)
	if err != nil {
		return answer, Usage{}, fmt.Errorf("llm: as: %w: %w", err, ErrInvalid)
	}
	var usage Usage
	var problems []string
	for range 2 {
		reply, spent, err := generate(ctx, m, q.request)
		usage = usage.Add(spent)
		if err != nil {
			return *new(T), usage, err
		}
		answer = *new(T)
		if problems = q.read(reply, &answer); len(problems) == 0 {
			return answer, usage, nil
		}
		q.correct(reply, problems)
	}
	return *new(T), usage, fmt.Errorf("llm: as %T: %s: %w", answer, strings.Join(problems, "; "), ErrMalformed)
}

// generate is [Generate], and says what a reply cost that came to nothing.
func generate(ctx context.Context, m Model, r Request) (reply Message, spent Usage, err error) {
	for chunk, err := range Stream(ctx, m, r, &reply) {
		if err != nil {
			return Message{}, spent, err
		}
		if chunk.Usage != nil {
			spent = *chunk.Usage
		}
	}
	return reply, spent, nil
}

// A question is a request for an answer of a shape.
type question struct {
	request Request
	shape   *shape.Shape
	wrapped bool   // the answer is in a field of an object
	tool    string // that the model calls to answer; empty when it writes JSON
}

// wrapping is the field that holds an answer which is no object.
const wrapping = "answer"

func newQuestion(t reflect.Type, r Request) (*question, error) {
	s, err := shape.Of(t)
	if err != nil {
		return nil, err
	}
	q := &question{request: r, shape: s}
	if s.Kind != shape.Object {
		q.shape, q.wrapped = shape.Wrap(wrapping, s), true
	}
	schema := q.shape.Schema()
	if r.Format.Schema != nil {
		schema = r.Format.Schema
	}
	if r.Format.Type == FormatText {
		q.useTool(schema)
		return q, nil
	}
	if r.Format.Type == FormatSchema {
		q.request.Format.Schema = schema
	}
	// Not every provider takes a schema, and some want JSON to be spoken of.
	told := System("Answer with a JSON object that fits this JSON Schema, and with nothing else:\n" + string(schema))
	q.request.Messages = append([]Message{told}, r.Messages...)
	return q, nil
}

// useTool has the model answer by a tool beside those it has, whose calls the
// conversation may hold.
func (q *question) useTool(schema json.RawMessage) {
	q.tool = q.request.Format.Name
	if q.tool == "" {
		q.tool = "answer"
	}
	for slices.ContainsFunc(q.request.Tools, func(t ToolSpec) bool { return t.Name == q.tool }) {
		q.tool += "_"
	}
	q.request.Format = Format{}
	q.request.Tools = append(slices.Clip(q.request.Tools), ToolSpec{
		Name:        q.tool,
		Description: "Gives the answer. Call it once, with the whole answer.",
		Schema:      schema,
	})
	q.request.ToolChoice = ToolChoice{Mode: ToolsRequired, Name: q.tool}
}

// read decodes a reply into what answer points to, and returns the problems.
func (q *question) read(reply Message, answer any) []string {
	text, problem := q.find(reply)
	if problem != "" {
		return []string{problem}
	}
	value, problems := q.shape.Check(text)
	if len(problems) > 0 && q.wrapped {
		// In a text, many models leave the wrapping out.
		if bare, others := q.shape.Fields[0].Shape.Check(text); len(others) == 0 {
			value, problems = encode(object{wrapping: bare}), nil
		}
	}
	if len(problems) > 0 {
		return problems
	}
	if q.wrapped {
		var inside object
		if err := json.Unmarshal(value, &inside); err != nil {
			return []string{err.Error()}
		}
		value = inside[wrapping]
	}
	if err := json.Unmarshal(value, answer); err != nil {
		return []string{wording(err)}
	}
	if err := validate(answer); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// validate asks the answer itself, which may be a pointer to what can say.
func validate(answer any) error {
	for v := reflect.ValueOf(answer); v.Kind() == reflect.Pointer && !v.IsNil(); v = v.Elem() {
		if judge, ok := v.Interface().(interface{ Validate() error }); ok {
			return judge.Validate()
		}
	}
	return nil
}

// wording says what is wrong without the names of Go types.
func wording(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return fmt.Sprintf("%s: %s does not fit", e.Field, e.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// find returns the JSON of an answer.
func (q *question) find(reply Message) (text []byte, problem string) {
	for _, call := range reply.ToolCalls {
		switch {
		case call.Name != q.tool || q.tool == "":
		case call.Invalid != "":
			return nil, "the arguments are not JSON: " + call.Invalid
		default:
			return []byte(call.Text()), ""
		}
	}
	said := strings.TrimSpace(reply.Text())
	switch {
	case said != "":
		return within(said), ""
	case q.tool != "":
		return nil, "there is no answer; call the tool " + q.tool
	default:
		return nil, "there is no answer; write JSON"
	}
}

// within returns the JSON in a text that may say more than that.
func within(said string) []byte {
	if json.Valid([]byte(said)) {
		return []byte(said)
	}
	if _, after, ok := strings.Cut(said, "```"); ok {
		block, _, _ := strings.Cut(after, "```")
		block = strings.TrimPrefix(strings.TrimSpace(block), "json")
		if json.Valid([]byte(block)) {
			return []byte(block)
		}
	}
	for _, pair := range []string{"{}", "[]"} {
		from, to := strings.IndexByte(said, pair[0]), strings.LastIndexByte(said, pair[1])
		if from >= 0 && from < to && json.Valid([]byte(said[from:to+1])) {
			return []byte(said[from : to+1])
		}
	}
	return []byte(said)
}

// correct has the next request show the model what is wrong with its reply.
func (q *question) correct(reply Message, problems []string) {
	wrong := "This does not fit: " + strings.Join(problems, "; ") + "."
	messages := slices.Clip(q.request.Messages)
	if len(reply.ToolCalls) > 0 || reply.Text() != "" {
		messages = append(messages, reply)
	}
	for _, call := range reply.ToolCalls {
		if call.Name == q.tool {
			messages = append(messages, ToolError(call, wrong+" Call the tool again with the whole answer."))
		} else {
			messages = append(messages, ToolError(call, "Not called: an answer is wanted."))
		}
	}
	if len(reply.ToolCalls) == 0 {
		messages = append(messages, User(wrong+" Give the whole answer again, and nothing else."))
	}
	q.request.Messages = messages
}
