// Package question reads the questions of graphs for people, in the protocols that a server and its MCP server speak.
package question

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/weft-go/weft/tools"
)

// Text returns a question as text for a person: the value itself, or its field "question" or "message" if that is a text,
// or the text of an approval, or else its JSON. Invisible characters are replaced, as [tools.Visible] does.
func Text(value json.RawMessage) string {
	text := plain(value)
	q := Approval(value)
	switch {
	case q == nil && text == "":
		return tools.Visible(string(value))
	case q == nil:
		return tools.Visible(text)
	}
	lines := []string{q.Text()}
	for _, before := range []string{q.Annotations.Title, text} {
		if before != "" {
			lines = append([]string{tools.VisibleLine(before)}, lines...)
		}
	}
	return strings.Join(lines, "\n")
}

// plain returns a text, or the field "question" or "message" of an object, or "".
func plain(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil {
		return ""
	}
	for _, name := range []string{"question", "message"} {
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// Approval returns a question about the call of a tool, or nil for another question.
func Approval(value json.RawMessage) *tools.Question {
	var q tools.Question
	if json.Unmarshal(value, &q) != nil || q.Tool == "" || q.Hash == "" {
		return nil
	}
	return &q
}

// Approves reports whether an answer to a question may approve the call of a tool: the question is an [Approval], or has one
// in it.
func Approves(value json.RawMessage) bool {
	if Approval(value) != nil {
		return true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) == nil {
		for _, v := range fields {
			if Approves(v) {
				return true
			}
		}
		return false
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil {
		for _, v := range list {
			if Approves(v) {
				return true
			}
		}
	}
	return false
}

// WithoutHashes returns a question without the hashes of the approvals in it, which a decision needs, and without their
// schemas, which have the hashes too.
func WithoutHashes(value json.RawMessage) json.RawMessage {
	if !Approves(value) {
		return value
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) == nil {
		if Approval(value) != nil {
			maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
				return strings.EqualFold(name, "hash") || strings.EqualFold(name, "schema")
			})
		}
		for name, v := range fields {
			fields[name] = WithoutHashes(v)
		}
		data, _ := json.Marshal(fields) // it was JSON before
		return data
	}
	var list []json.RawMessage
	_ = json.Unmarshal(value, &list) // it is a list, since it has an approval
	for i, v := range list {
		list[i] = WithoutHashes(v)
	}
	data, _ := json.Marshal(list)
	return data
}

// Decide returns the decision for the word "approve" or "reject" about the call that a question shows. It returns false for another
// word.
func Decide(q *tools.Question, word, reason string) (tools.Decision, bool) {
	switch v := tools.Verdict(strings.ToLower(strings.TrimSpace(word))); v {
	case tools.Approved:
		return q.Approve(), true
	case tools.Rejected:
		return q.Reject(reason), true
	}
	return tools.Decision{}, false
}

// Answer returns the answer that a person wrote as text: its JSON if it is an object, an array, true or false, and
// else the text.
func Answer(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		switch v.(type) {
		case map[string]any, []any, bool:
			return json.RawMessage(text) // exact numbers
		}
	}
	return text
}
