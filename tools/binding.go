package tools

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
)

// A binding is the subject of an approval: the tool, the arguments and the bound
// values of one call.
type binding struct {
	tool, arguments, bound string // SHA-256 digests; the digest of the arguments covers the preview
}

// String returns the form in which questions and decisions store a binding.
func (b binding) String() string { return b.tool + "." + b.arguments + "." + b.bound }

// mismatch returns the reason why a decision with the hash given does not match this
// binding, or "".
func (b binding) mismatch(given string) string {
	if given == b.String() {
		return ""
	}
	parts := strings.Split(given, ".")
	if len(parts) != 3 || len(given) != len(b.String()) {
		return "the decision does not have the hash of this question: it may be cut off, or for a question of an older version"
	}
	var changed []string
	for i, part := range []struct{ digest, name string }{
		{b.tool, "the tool (its name, description, schema or annotations)"}, {b.arguments, "the arguments or the preview"}, {b.bound, "the bound values"},
	} {
		if parts[i] != part.digest {
			changed = append(changed, part.name)
		}
	}
	return "the decision was for another call; these differ: " + strings.Join(changed, ", ")
}

// digest returns the SHA-256 digest of texts. Each text is preceded by its length, so
// that no two lists have the same input.
func digest(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(text), text) // Write of a hash returns no error
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// question returns the question for a call, and its binding. The caller has checked the
// arguments.
func question(ctx context.Context, t Tool, id string, call llm.ToolCall) (Question, binding, error) {
	annotations, err := json.Marshal(t.annotations)
	if err != nil {
		return Question{}, binding{}, err
	}
	q := Question{
		CallID: id, Tool: t.Name(), Description: t.spec.Description, Annotations: t.annotations,
		Arguments: append(json.RawMessage(nil), call.Arguments...),
	}
	subject := []string{string(call.Arguments)}
	if t.preview != nil {
		if q.Preview, err = t.preview(ctx, call.Arguments); err != nil {
			return Question{}, binding{}, previewError{err}
		}
		subject = append(subject, string(q.Preview))
	}
	var exact []string
	for _, need := range t.needs {
		value, text, err := need.describe(ctx)
		if err != nil {
			return Question{}, binding{}, err
		}
		q.Bound = append(q.Bound, value)
		exact = append(exact, value.Name, text)
	}
	b := binding{
		tool:      digest(t.Name(), t.spec.Description, string(t.spec.Schema), string(annotations)),
		arguments: digest(subject...),
		bound:     digest(exact...),
	}
	q.Hash = b.String()
	q.Schema = json.RawMessage(fmt.Sprintf(decisionSchema, q.Hash))
	return q, b, nil
}

// Question returns the question that a person would be asked about a call, whether or not a
// rule selects the call. It does not ask and does not call the tool. Use it to show several
// calls to a person at once, for example the calls of a plan. [Bound] values come from ctx.
//
// Question returns an error if the tool does not exist, if the arguments are invalid, if the
// [Preview] of the tool fails, or if a bound value is missing ([ErrUnbound]) or has no text
// ([ErrBoundText]).
func (s *Set) Question(ctx context.Context, call llm.ToolCall) (q Question, err error) {
	defer caught(&err)
	e := &callRun{asked: call, call: call.Clone()}
	if err := e.find(s); err != nil {
		return Question{}, failure(call, err)
	}
	arguments, _, err := e.tool.prepared(e.call.Arguments)
	if err != nil {
		return Question{}, failure(call, fmt.Errorf("invalid arguments: %w", err))
	}
	e.call.Arguments = arguments
	var missing []error
	for _, need := range e.tool.needs {
		missing = append(missing, need.find(ctx))
	}
	if err := errors.Join(missing...); err != nil {
		return Question{}, failure(e.call, err)
	}
	if q, _, err = question(ctx, e.tool, call.ID, e.call); err != nil {
		return Question{}, failure(e.call, err)
	}
	return q, nil
}
