// Package question reads the questions of graphs for people who answer them as text. Package server and package mcpserver
// use it.
package question

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/weft-go/weft/tools"
)

// Text returns a question as text for a person: the value itself, or its field "question" or "message", if that is a
// text. For an [Approval], Text appends the text of the approval. If there is no text at all, it returns the JSON.
// Invisible characters are replaced, as [tools.Visible] does.
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

// Approval returns a question about a tool call, or nil for another question.
func Approval(value json.RawMessage) *tools.Question {
	var q tools.Question
	if json.Unmarshal(value, &q) != nil || q.Tool == "" || q.Hash == "" {
		return nil
	}
	return &q
}

// Approves reports whether an answer to a question may approve a tool call: the question is an [Approval], or contains
// one.
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

// WithoutHashes returns a question without the hashes of its approvals, which a decision needs. It also removes the
// schemas of the approvals, which contain the hashes.
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
	_ = json.Unmarshal(value, &list) // a list, since Approves has found an approval in it
	for i, v := range list {
		list[i] = WithoutHashes(v)
	}
	data, _ := json.Marshal(list)
	return data
}

// Decide returns the decision "approve" or "reject" about the tool call of a question. It returns false for any other
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

// Answer converts the text that a person wrote to an answer. An object, an array, true or false is read as JSON. Any
// other text is the answer itself.
func Answer(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		switch v.(type) {
		case map[string]any, []any, bool:
			return json.RawMessage(text) // keeps the digits of numbers
		}
	}
	return text
}
