package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// deletion returns a tool that deletes for the bound user.
func deletion(ran *[]string, description, schema string, a tools.Annotations) tools.Tool {
	spec := llm.ToolSpec{Name: "delete", Description: description, Schema: json.RawMessage(schema)}
	raw := tools.Raw(spec, func(_ context.Context, arguments json.RawMessage) (tools.Result, error) {
		*ran = append(*ran, string(arguments))
		return tools.Result{Text: "deleted"}, nil
	}).Annotate(a)
	return tools.Fix[userID](raw, "user")
}

const deletionSchema = `{"type":"object","properties":{"id":{"type":"string"},"user":{"type":"string"}},"required":["id"]}`

// TestApprovalBindsTheWholeCall proves that a decision is valid only for the tool, the
// arguments and the bound values that the question showed.
func TestApprovalBindsTheWholeCall(t *testing.T) {
	t.Parallel()
	destructive := tools.Annotations{Destructive: true}
	tests := []struct {
		name, description, schema string
		annotations               tools.Annotations
		id, user                  string
		differs                   string
	}{
		{"nothing", "Deletes a file.", deletionSchema, destructive, "7", "ann", ""},
		{"another user", "Deletes a file.", deletionSchema, destructive, "7", "bob", "the bound values"},
		{"another description", "Deletes every file.", deletionSchema, destructive, "7", "ann", "the tool (its name, description, schema or annotations)"},
		{"another schema", "Deletes a file.", strings.Replace(deletionSchema, `"id":{`, `"id":{"description":"all files from this one on",`, 1), destructive, "7", "ann", "the tool (its name, description, schema or annotations)"},
		{"other annotations", "Deletes a file.", deletionSchema, tools.Annotations{Destructive: true, OpenWorld: true}, "7", "ann", "the tool (its name, description, schema or annotations)"},
		{"other arguments", "Deletes a file.", deletionSchema, destructive, "8", "ann", "the arguments or the preview"},
		{"all", "Deletes every file.", deletionSchema, destructive, "8", "bob", "the tool (its name, description, schema or annotations), the arguments or the preview, the bound values"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			var d approver
			o := tools.Options{Approval: d.policy(tools.Destructive()), Once: new(onceStore).once}
			call := func(tool tools.Tool, id, user string) (llm.Message, error) {
				c := llm.ToolCall{ID: "call_1", Name: "delete", Arguments: json.RawMessage(fmt.Sprintf(`{"id":%q}`, id))}
				return mustSet(t, tool).Call(tools.WithBound(t.Context(), userID(user)), c, o)
			}
			_, err := call(deletion(&ran, "Deletes a file.", deletionSchema, destructive), "7", "ann")
			require.ErrorIs(t, err, waiting{true})
			d.decideAll(func(q tools.Question) tools.Decision {
				assert.Equal(t, []tools.BoundValue{{Name: "user", Text: "ann"}}, q.Bound)
				return q.Approve()
			})
			changed := deletion(&ran, test.description, test.schema, test.annotations)
			answer, err := call(changed, test.id, test.user)
			if test.differs == "" {
				require.NoError(t, err)
				assert.Equal(t, "deleted", answer.Text())
				return
			}
			require.ErrorIs(t, err, waiting{true})
			assert.Empty(t, ran, "the call ran on a decision for another call")
			d.decideAll(func(q tools.Question) tools.Decision {
				assert.Equal(t, "the decision was for another call; these differ: "+test.differs, q.Problem)
				assert.Equal(t, test.description, q.Description)
				assert.Equal(t, test.user, q.Bound[0].Text)
				return q.Approve()
			})
			_, err = call(changed, test.id, test.user)
			require.NoError(t, err)
			assert.Equal(t, []string{fmt.Sprintf(`{"id":%q,"user":%q}`, test.id, test.user)}, ran)
		})
	}
}

// TestApprovalIsForOneUserInAGraph proves that a question is asked again if it is answered
// in a run for another user.
func TestApprovalIsForOneUserInAGraph(t *testing.T) {
	t.Parallel()
	var ran []string
	set := mustSet(t, deletion(&ran, "Deletes a file.", deletionSchema, tools.Annotations{}))
	th := nodeGraph(t, set, memcheckpoint.New(memcheckpoint.Options{}), onGraph(tools.Named("delete"))).Thread("t")
	call := llm.ToolCall{ID: "call_1", Name: "delete", Arguments: json.RawMessage(`{"id":"7"}`)}
	ann, bob := tools.WithBound(t.Context(), userID("ann")), tools.WithBound(t.Context(), userID("bob"))
	snap, err := th.Invoke(ann, messages.Put(llm.Assistant("", call)))
	require.NoError(t, err)
	for _, ctx := range []context.Context{bob, ann} {
		open, err := approveTool.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 1)
		snap, err = th.Invoke(ctx, approveTool.Answer(open[0].ID, open[0].Prompt.Approve()))
		require.NoError(t, err)
		assert.Empty(t, ran)
	}
	// The decision for ann arrived in a run for bob, so it stays invalid in a run for ann.
	open, err := approveTool.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)
	assert.Contains(t, open[0].Prompt.Problem, "the bound values")
	snap, err = th.Invoke(ann, approveTool.Answer(open[0].ID, open[0].Prompt.Approve()))
	require.NoError(t, err)
	assert.True(t, snap.Done())
	assert.Equal(t, []string{`{"id":"7","user":"ann"}`}, ran)
}

// The hash and the key of a question that a version before bound values stored, for a call
// of the tool delete with the arguments {"id":"7"}.
const (
	oldHash = "b2ffcb7ff40ea2a2cd3d66b7d1a7ae4ceaf7a5b7a2e3c3a0d3b70b1a0f8a6c11"
	oldKey  = "call_1 " + oldHash + " 0"
)

// TestApprovalOfAnOlderVersionIsAskedAgain proves that a stored question of an older
// version can be answered, and that the person is then asked again, because the old hash
// covers less.
func TestApprovalOfAnOlderVersionIsAskedAgain(t *testing.T) {
	t.Parallel()
	var ran []string
	tool := deletion(&ran, "Deletes a file.", deletionSchema, tools.Annotations{})
	store := memcheckpoint.New(memcheckpoint.Options{})
	old := onGraph(tools.Named("delete"))
	old.Approval.Ask = func(ctx context.Context, _ string, q tools.Question) (tools.Decision, error) {
		q.Hash, q.Bound = oldHash, nil
		return approveTool.WaitKey(ctx, oldKey, q)
	}
	call := llm.ToolCall{ID: "call_1", Name: "delete", Arguments: json.RawMessage(`{"id":"7"}`)}
	ctx := tools.WithBound(t.Context(), userID("ann"))
	snap, err := nodeGraph(t, mustSet(t, tool), store, old).Thread("t").Invoke(ctx, messages.Put(llm.Assistant("", call)))
	require.NoError(t, err)

	th := nodeGraph(t, mustSet(t, tool), store, onGraph(tools.Named("delete"))).Thread("t")
	for _, hash := range []string{oldHash, ""} {
		open, err := approveTool.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 1)
		d := open[0].Prompt.Approve()
		if hash != "" {
			require.Equal(t, hash, d.Hash)
		}
		snap, err = th.Invoke(ctx, approveTool.Answer(open[0].ID, d))
		require.NoError(t, err)
		if hash != "" {
			assert.Empty(t, ran, "the call ran on a decision of an older version")
		}
	}
	assert.True(t, snap.Done())
	assert.Len(t, ran, 1)
}

type (
	token    string
	session  struct{ user, key string }
	handle   struct{ Close func() }
	labelled struct {
		Close func()
		name  string
	}
	account struct {
		User string
		Tags map[string]int
		Seen *time.Time
		Any  any
	}
)

func (t token) Redacted() string  { return "ends in " + string(t[len(t)-2:]) }
func (s *session) String() string { return s.user }
func (l labelled) String() string { return l.name }

func boundQuestion[T any](t *testing.T, value T) (tools.Question, error) {
	t.Helper()
	type in struct {
		Value tools.Bound[T] `json:"value"`
	}
	set := mustSet(t, tools.New("tool", "Does something.", func(context.Context, in) (string, error) { return "", nil }))
	return set.Question(tools.WithBound(t.Context(), value), llm.ToolCall{ID: "1", Name: "tool"})
}

func TestQuestionShowsBoundValues(t *testing.T) {
	t.Parallel()
	seen := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name string
		ask  func(*testing.T) (tools.Question, error)
		// other asks about a different value
		other func(*testing.T) (tools.Question, error)
		want  tools.BoundValue
	}{
		{"a string", func(t *testing.T) (tools.Question, error) { return boundQuestion(t, userID("ann")) }, func(t *testing.T) (tools.Question, error) { return boundQuestion(t, userID("bob")) }, tools.BoundValue{Name: "value", Text: "ann"}},
		{"a long string", func(t *testing.T) (tools.Question, error) { return boundQuestion(t, strings.Repeat("é", 300)) }, func(t *testing.T) (tools.Question, error) { return boundQuestion(t, strings.Repeat("é", 301)) }, tools.BoundValue{Name: "value", Text: strings.Repeat("é", 200) + "…"}},
		{"a number", func(t *testing.T) (tools.Question, error) { return boundQuestion(t, 7) }, func(t *testing.T) (tools.Question, error) { return boundQuestion(t, 8) }, tools.BoundValue{Name: "value", Text: "7"}},
		{"a secret", func(t *testing.T) (tools.Question, error) { return boundQuestion(t, token("secret-42")) }, func(t *testing.T) (tools.Question, error) { return boundQuestion(t, token("another-42")) }, tools.BoundValue{Name: "value", Text: "ends in 42", Secret: true}},
		{"a struct with a method of its pointer", func(t *testing.T) (tools.Question, error) { return boundQuestion(t, session{"ann", "k1"}) }, func(t *testing.T) (tools.Question, error) { return boundQuestion(t, session{"ann", "k2"}) }, tools.BoundValue{Name: "value", Text: "ann"}},
		{"a pointer", func(t *testing.T) (tools.Question, error) { return boundQuestion(t, &session{"ann", "k1"}) }, func(t *testing.T) (tools.Question, error) { return boundQuestion(t, &session{"ann", "k2"}) }, tools.BoundValue{Name: "value", Text: "ann"}},
		{
			"nested values", func(t *testing.T) (tools.Question, error) {
				return boundQuestion(t, account{"ann", map[string]int{"b": 2, "a": 1}, &seen, []any{true, 1.5, nil, uint8(3)}})
			},
			func(t *testing.T) (tools.Question, error) {
				return boundQuestion(t, account{"ann", map[string]int{"b": 2, "a": 1}, &seen, []any{true, 1.5, nil, int8(3)}})
			},
			tools.BoundValue{Name: "value", Text: `{User: "ann", Tags: {"a": 1, "b": 2}, Seen: "2026-01-02T03:04:05Z", Any: []interface {} [bool true, float64 1.5, null, uint8 3]}`},
		},
		{"a value that only String identifies", func(t *testing.T) (tools.Question, error) { return boundQuestion(t, labelled{func() {}, "main"}) }, func(t *testing.T) (tools.Question, error) { return boundQuestion(t, labelled{func() {}, "other"}) }, tools.BoundValue{Name: "value", Text: "main"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q, err := test.ask(t)
			require.NoError(t, err)
			assert.Equal(t, []tools.BoundValue{test.want}, q.Bound)
			again, err := test.ask(t)
			require.NoError(t, err)
			assert.Equal(t, q, again)
			other, err := test.other(t)
			require.NoError(t, err)
			assert.NotEqual(t, q.Hash, other.Hash, "values that differ have one hash")
		})
	}
	t.Run("a value without a text", func(t *testing.T) {
		t.Parallel()
		_, err := boundQuestion(t, &handle{func() {}})
		require.ErrorIs(t, err, tools.ErrBoundText)
		assert.ErrorContains(t, err, "give *tools_test.handle a method String() string")
	})
	t.Run("a value that contains itself", func(t *testing.T) {
		t.Parallel()
		type ring struct{ next *ring }
		r := &ring{}
		r.next = r
		_, err := boundQuestion(t, r)
		require.ErrorIs(t, err, tools.ErrBoundText)
	})
}

// sealed is a secret without a text other than the result of Redacted.
type sealed struct{ open func() }

func (*sealed) Redacted() string { return "a secret" }

// TestApprovalNeedsMoreThanARedactedText proves that the result of Redacted does not
// identify a value, because two secrets may have the same result.
func TestApprovalNeedsMoreThanARedactedText(t *testing.T) {
	t.Parallel()
	_, err := boundQuestion(t, &sealed{func() {}})
	require.ErrorIs(t, err, tools.ErrBoundText)
	assert.ErrorContains(t, err, "give *tools_test.sealed a method String() string")
}

// TestApprovalNeedsTheTextOfABoundValue proves that a call that needs approval does not run
// if a bound value has no text.
func TestApprovalNeedsTheTextOfABoundValue(t *testing.T) {
	t.Parallel()
	type in struct{ Handle tools.Bound[*handle] }
	ran := false
	set := mustSet(t, tools.New("tool", "Does something.", func(context.Context, in) (string, error) { ran = true; return "", nil }))
	var d approver
	_, err := set.Call(tools.WithBound(t.Context(), &handle{}), llm.ToolCall{ID: "1", Name: "tool"}, tools.Options{Approval: d.policy(tools.Named("tool"))})
	require.ErrorIs(t, err, tools.ErrBoundText)
	assert.False(t, ran)
	_, err = set.Call(tools.WithBound(t.Context(), &handle{}), llm.ToolCall{ID: "1", Name: "tool"}, tools.Options{})
	require.NoError(t, err, "a call without approval needs no text")
	assert.True(t, ran)
}

func TestSetQuestionReportsMistakes(t *testing.T) {
	t.Parallel()
	var ran []string
	set := mustSet(t, deletion(&ran, "Deletes a file.", deletionSchema, tools.Annotations{}))
	ctx := tools.WithBound(t.Context(), userID("ann"))
	_, err := set.Question(ctx, llm.ToolCall{ID: "1", Name: "none"})
	require.ErrorContains(t, err, `there is no tool "none"`)
	_, err = set.Question(ctx, llm.ToolCall{ID: "1", Name: "delete"})
	require.ErrorContains(t, err, "invalid arguments")
	_, err = set.Question(t.Context(), llm.ToolCall{ID: "1", Name: "delete", Arguments: json.RawMessage(`{"id":"7"}`)})
	require.ErrorIs(t, err, tools.ErrUnbound)
	q, err := set.Meta().Question(ctx, llm.ToolCall{ID: "1", Name: tools.InvokeTool, Arguments: json.RawMessage(`{"tool_name":"delete","params":{"id":"7"}}`)})
	require.NoError(t, err)
	assert.Equal(t, "delete", q.Tool)
	assert.Empty(t, ran)
}
