package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// As asks a model for an answer of type T: a struct, a slice, a map, or any other type
// that JSON can be read into. It returns the answer and the usage of all its requests.
//
//	type Verdict struct {
//		Score  int    `json:"score" minimum:"0" maximum:"10"`
//		Grade  string `json:"grade" enum:"good,bad"`
//		Reason string `json:"reason,omitempty"`
//	}
//	verdict, usage, err := llm.As[Verdict](ctx, model, request)
//
// The schema of T is inferred as for the arguments of a tool: a field is required unless it
// is a pointer or has omitempty or omitzero, its jsonschema tag is its description, its
// enum tag lists its values, and its tags minimum and maximum limit a number. [OneOf] makes a struct a union.
//
// By default the model answers by calling a tool with this schema; see [AnswerTool]. The
// tool has the name r.Format.Name; empty means "answer". If r.Format has the type
// [FormatSchema] or [FormatJSON], the model writes JSON instead. If r.Format.Schema is set, the
// model gets it instead of the schema of T. As also accepts an answer that the model writes as text.
//
// In a graph, the event stream of the run has the chunks of the answer only if the model
// emits them. [WithWrap] can wrap the model in one that does.
//
// The answer is checked against the schema of T. If *T has the method Validate() error,
// or T is a pointer to such a type, it must return nil. If the answer does not fit, As
// tells the model the problems and asks once more. If the second answer does not fit
// either, the error is an [*AnswerError] that wraps [ErrMalformed]. If T cannot be read
// from JSON, the error wraps [ErrInvalid]. Otherwise As fails like [Generate].
func As[T any](ctx context.Context, m Model, r Request) (T, Usage, error) {
	var answer T
	q, err := newQuestion(reflect.TypeFor[T](), r)
	if err != nil {
		return answer, Usage{}, err
	}
	usage, err := q.ask(ctx, m, &answer)
	if err != nil {
		return *new(T), usage, err
	}
	return answer, usage, nil
}

// A question is a request for an answer.
type question struct {
	*form
	request Request
	tool    string // the tool that the model calls to answer; empty if it writes JSON
}

func newQuestion(t reflect.Type, r Request) (*question, error) {
	f, err := newForm(t)
	if err != nil {
		return nil, err
	}
	q := &question{form: f, request: r}
	text := f.schema.Text()
	if r.Format.Schema != nil {
		text = r.Format.Schema
	}
	if r.Format.Type == FormatText {
		q.useTool(text)
		return q, nil
	}
	if r.Format.Type == FormatSchema {
		q.request.Format.Schema = text
	}
	// Some providers ignore a schema, and some require that the prompt mentions JSON.
	told := System("Answer with a JSON object that fits this JSON Schema, and with nothing else:\n" + string(text))
	q.request.Messages = append([]Message{told}, r.Messages...)
	return q, nil
}

// useTool adds the tool with which the model answers. It keeps the other tools, because
// the conversation may have calls of them.
func (q *question) useTool(schema json.RawMessage) {
	q.tool = q.request.Format.Name
	if q.tool == "" {
		q.tool = answerName
	}
	for slices.ContainsFunc(q.request.Tools, func(t ToolSpec) bool { return t.Name == q.tool }) {
		q.tool += "_"
	}
	q.request.Format = Format{}
	q.request.Tools = append(slices.Clip(q.request.Tools), answerSpec(q.tool, schema))
	q.request.ToolChoice = ToolChoice{Mode: ToolsRequired, Name: q.tool}
}

// ask asks for an answer, at most twice, and decodes it into the value to which answer
// points.
func (q *question) ask(ctx context.Context, m Model, answer any) (Usage, error) {
	var usage Usage
	var failure *AnswerError
	for range 2 {
		reply, said, spent, err := generate(ctx, m, q.request)
		usage = usage.Add(spent)
		switch {
		case err == nil:
		case said != "":
			return usage, &AnswerError{Type: q.t.String(), Text: said, Err: err}
		case failure != nil:
			failure.Err = err
			return usage, failure
		default:
			return usage, err
		}
		text, problems := q.read(reply, answer)
		if len(problems) == 0 {
			return usage, nil
		}
		failure = q.failure(text, problems)
		q.correct(reply, problems)
	}
	return usage, failure
}

// generate is like [Generate], and also returns the usage. If the stream fails, it returns
// the text and the arguments that the model wrote before the error.
func generate(ctx context.Context, m Model, r Request) (reply Message, said string, spent Usage, err error) {
	var text strings.Builder
	for chunk, err := range Stream(ctx, m, r, &reply) {
		if err != nil {
			return Message{}, text.String(), spent, err
		}
		if chunk.Kind == ChunkText {
			text.WriteString(chunk.Text)
		}
		text.WriteString(chunk.ToolCall.Arguments)
		if chunk.Usage != nil {
			spent = *chunk.Usage
		}
	}
	return reply, "", spent, nil
}

// read decodes a reply into the value to which answer points. It returns the text of the
// answer, and the reasons why it does not fit.
func (q *question) read(reply Message, answer any) (text string, problems []string) {
	for _, call := range reply.ToolCalls {
		if q.tool != "" && call.Name == q.tool {
			return call.Text(), q.readCall(call, answer)
		}
	}
	text = reply.Text()
	said := []byte(strings.TrimSpace(text))
	switch {
	case len(said) == 0 && q.tool != "":
		return text, []string{"there is no answer; call the tool " + q.tool}
	case len(said) == 0:
		return text, []string{"there is no answer; write JSON"}
	}
	said = within(said)
	if name, arguments, ok := q.writtenCall(said); ok {
		if q.tool == "" {
			return text, []string{fmt.Sprintf("the text is a call of the tool %q; write the answer itself", name)}
		}
		if name != q.tool {
			return text, []string{fmt.Sprintf("the text is a call of the tool %q; call the tool %s to answer", name, q.tool)}
		}
		said = arguments
	}
	return text, q.decode(said, answer)
}

// writtenCall returns the name and the arguments of a tool call that the model wrote as
// text. If the request has no tools, or an answer has the fields name and arguments, no
// text is a call.
func (q *question) writtenCall(text []byte) (name string, arguments json.RawMessage, ok bool) {
	var object map[string]json.RawMessage
	if len(q.request.Tools) == 0 || json.Unmarshal(text, &object) != nil {
		return "", nil, false
	}
	arguments, ok = object["arguments"]
	if !ok || json.Unmarshal(object["name"], &name) != nil || q.schema.Has("name") && q.schema.Has("arguments") {
		return "", nil, false
	}
	for key := range object {
		if !slices.Contains([]string{"id", "type", "name", "arguments"}, key) {
			return "", nil, false
		}
	}
	var quoted string // some models write the arguments as a string
	if json.Unmarshal(arguments, &quoted) == nil {
		arguments = json.RawMessage(quoted)
	}
	return name, arguments, true
}

// within returns the JSON in a text, or the whole text if it finds no JSON.
func within(said []byte) []byte {
	if json.Valid(said) {
		return said
	}
	text := string(said)
	if _, after, ok := strings.Cut(text, "```"); ok {
		block, _, _ := strings.Cut(after, "```")
		block = strings.TrimPrefix(strings.TrimSpace(block), "json")
		if json.Valid([]byte(block)) {
			return []byte(block)
		}
	}
	for _, pair := range []string{"{}", "[]"} {
		from, to := strings.IndexByte(text, pair[0]), strings.LastIndexByte(text, pair[1])
		if from >= 0 && from < to && json.Valid(said[from:to+1]) {
			return said[from : to+1]
		}
	}
	return said
}

// correct adds a reply to the request, with the reasons why it does not fit.
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
