package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/server/internal/question"
	"github.com/weft-go/weft/tools"
)

// An asked question is an open question of a graph.
type asked struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// canAsk reports whether the client supports elicitation, so that the person at the client can be asked.
func (r *toolRun) canAsk() bool {
	params := r.request.Session.InitializeParams()
	return params != nil && params.Capabilities != nil && params.Capabilities.Elicitation != nil
}

// ask sends the open questions to the person at the client. If an earlier answer was refused, problem is the reason. ask
// returns the answers by the ids of the questions, or nil if the client cannot ask or the person does not answer.
func (r *toolRun) ask(ctx context.Context, problem string) (map[string]any, error) {
	if !r.canAsk() {
		return nil, nil
	}
	answers := map[string]any{}
	for _, q := range r.questions {
		result, err := r.request.Session.Elicit(ctx, q.form(problem))
		if err != nil || result.Action != "accept" {
			return nil, ctx.Err() // another person can still answer
		}
		answers[q.ID] = q.given(result.Content)
	}
	r.numbers = numbersIn(answers)
	return answers, nil
}

const (
	answerField = "answer"
	reasonField = "reason"
)

// form returns a form for the answer to a question.
func (q asked) form(problem string) *mcp.ElicitParams {
	message := question.Text(q.Value)
	if problem != "" {
		message = "The answer was not accepted: " + tools.Visible(problem) + "\n\n" + message
	}
	fields := map[string]any{answerField: q.field()}
	if question.Approval(q.Value) != nil {
		fields[reasonField] = map[string]any{"type": "string", "title": "Reason of a rejection"}
	}
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": fields, "required": []string{answerField},
	}}
}

// field returns the schema of the form's field for the answer: a choice, the type in the question's schema, or a text.
func (q asked) field() map[string]any {
	field := map[string]any{"type": "string", "title": "Answer"}
	if question.Approval(q.Value) != nil {
		field["enum"] = []tools.Verdict{tools.Approved, tools.Rejected}
		return field
	}
	var fields struct {
		Options []any `json:"options"`
		Schema  struct {
			Type string `json:"type"`
			Enum []any  `json:"enum"`
		} `json:"schema"`
	}
	_ = json.Unmarshal(q.Value, &fields) // a question may be any value
	options := slices.Concat(fields.Options, fields.Schema.Enum)
	other := slices.ContainsFunc(options, func(v any) bool { _, ok := v.(string); return !ok })
	switch {
	case len(options) > 0 && !other: // a form supports only a choice of texts
		field["enum"] = options
	case slices.Contains([]string{"integer", "number", "boolean"}, fields.Schema.Type):
		field["type"] = fields.Schema.Type
	}
	return field
}

// given returns the answer of a person from the content of the form.
func (q asked) given(content map[string]any) any {
	text, ok := content[answerField].(string)
	if !ok {
		return content[answerField]
	}
	if call := question.Approval(q.Value); call != nil {
		reason, _ := content[reasonField].(string)
		if d, ok := question.Decide(call, text, reason); ok {
			return d
		}
	}
	return question.Answer(text)
}

// numbersIn converts the answers that are texts of numbers to numbers. It returns nil if there is no such text.
func numbersIn(answers map[string]any) map[string]any {
	found, out := false, map[string]any{}
	for id, answer := range answers {
		out[id] = answer
		text, _ := answer.(string)
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			continue
		}
		if _, ok := v.(float64); ok {
			out[id], found = json.RawMessage(text), true
		}
	}
	if !found {
		return nil
	}
	return out
}

// waits returns the result of a tool whose graph waits: the open questions, and how to answer them. If the model of the
// client may not approve calls, the result leaves out the hashes that an approval needs.
func (r *toolRun) waits() *mcp.CallToolResult {
	var text strings.Builder
	text.WriteString("The tool waits for an answer.\n")
	type open struct {
		ID       string          `json:"id"`
		Approval bool            `json:"approval,omitempty"`
		Text     string          `json:"text,omitempty"`
		Value    json.RawMessage `json:"value,omitempty"`
	}
	var list []open
	for _, q := range r.questions {
		o := open{ID: q.ID, Value: q.Value}
		shown := string(q.Value)
		o.Approval = question.Approves(q.Value)
		switch {
		case question.Approval(q.Value) != nil:
			shown = question.Text(q.Value)
			o.Text, o.Value = shown, nil
		case o.Approval && r.answers != AnswerApprovals:
			shown = question.Text(question.WithoutHashes(q.Value))
			o.Text, o.Value = shown, nil
		}
		list = append(list, o)
		fmt.Fprintf(&text, "Question %s: %s\n%s\n", q.ID, shown, r.how(q, o.Approval))
	}
	data, err := json.Marshal(map[string]any{threadKey: r.thread, "questions": list})
	if err != nil {
		return failed(err.Error())
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text.String()}}, StructuredContent: json.RawMessage(data)}
}

// how returns an instruction for answering a question.
func (r *toolRun) how(q asked, approval bool) string {
	call := fmt.Sprintf("Call the tool %q with thread_id %q and question_id %q", answerName, r.thread, q.ID)
	switch {
	case r.answers == AnswerNothing, approval && r.answers != AnswerApprovals && !r.canAsk():
		return fmt.Sprintf("A person answers it, in another client of the service. The thread is %q.", r.thread)
	case approval && r.answers != AnswerApprovals:
		return "The person did not answer. " + call + " to ask the person again."
	case question.Approval(q.Value) != nil:
		return call + ` and the answer "approve" or "reject".`
	}
	return call + " and the answer."
}
