package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

type (
	userID string
	tenant struct{ ID int }
	scope  struct {
		Tenant tools.Bound[tenant]
	}
	query struct {
		scope
		Text string              `json:"text"`
		User tools.Bound[userID] `json:"user"`
	}
	// pointers embeds a pointer to a struct with a bound field.
	pointers struct {
		*Scope
		N int `json:"n,omitempty"`
	}
	Scope  struct{ User tools.Bound[userID] }
	nested struct {
		Inner struct{ User tools.Bound[userID] } `json:"inner"`
	}
)

func asking() tools.Tool {
	return tools.New("ask", "Asks.", func(_ context.Context, in query) (string, error) {
		return string(in.User.Value()) + " asks " + in.Text, nil
	})
}

func asked(arguments string) llm.ToolCall {
	return llm.ToolCall{ID: "call_1", Name: "ask", Arguments: json.RawMessage(arguments)}
}

func bindAll(ctx context.Context) context.Context {
	return tools.WithBound(tools.WithBound(ctx, userID("ann")), tenant{})
}

func TestBoundIsNotTheModelsToSee(t *testing.T) {
	t.Parallel()
	raw := tools.Raw(llm.ToolSpec{Name: "ask", Description: "Asks.", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"user":{"type":"string"}},"required":["user","text"]}`)},
		func(_ context.Context, arguments json.RawMessage) (tools.Result, error) {
			return tools.Result{Text: string(arguments)}, nil
		})
	for name, tool := range map[string]tools.Tool{"field": asking(), "fixed": tools.Fix[userID](raw, "user")} {
		schema := strings.ToLower(string(tool.Spec().Schema))
		assert.NotContains(t, schema, "user")
		assert.NotContains(t, schema, "tenant")
		set := mustSet(t, tool)
		answer, err := set.Call(bindAll(t.Context()), asked(`{"text":"what?"}`), tools.Options{})
		require.NoError(t, err, name)
		assert.Equal(t, map[string]string{"field": "ann asks what?", "fixed": `{"text":"what?","user":"ann"}`}[name], answer.Text(), name)
		for _, attempt := range []string{`"user":"bob"`, `"User":"bob"`, `"USER":{"value":"bob"}`, `"user":null`, `"uſer":"bob"`} {
			answer, err := set.Call(bindAll(t.Context()), asked(`{"text":"what?",`+attempt+`}`), tools.Options{})
			require.NoError(t, err, "%s, %s", name, attempt)
			assert.Equal(t, llm.StatusError, answer.Status, "%s, %s", name, attempt)
			assert.Contains(t, answer.Text(), "it is set by the program; leave it out", "%s, %s", name, attempt)
		}
	}
	assert.Contains(t, string(raw.Spec().Schema), `"user"`)
}

func TestBoundIsNeeded(t *testing.T) {
	t.Parallel()
	ran := false
	set := mustSet(t, tools.New("ask", "Asks.", func(context.Context, query) (string, error) { ran = true; return "", nil }))
	var d approver
	for name, ctx := range map[string]context.Context{
		"nothing": t.Context(), "not all": tools.WithBound(t.Context(), userID("ann")),
		"an empty text": tools.WithBound(tools.WithBound(t.Context(), userID("")), tenant{1}),
		"another type":  tools.WithBound(tools.WithBound(t.Context(), "ann"), tenant{1}),
	} {
		o := tools.Options{Approval: d.policy(tools.Named("*")), OnError: tools.AnswerErrors}
		_, err := set.Call(ctx, asked(`{"text":"x"}`), o)
		require.ErrorIs(t, err, tools.ErrUnbound, name)
		assert.Equal(t, name == "an empty text", strings.Contains(err.Error(), "tools_test.userID of the run is an empty string"), "%v", err)
		assert.ErrorContains(t, err, "tools.Bind", name)
		assert.False(t, ran, name)
		assert.Empty(t, d.open, name)
	}
	_, ok := tools.BoundFrom[userID](t.Context())
	assert.False(t, ok, "found a value in an empty context")
	late := doing("ask", func(ctx context.Context, _ int) (string, error) {
		_, ok := tools.BoundFrom[userID](ctx)
		if !ok {
			return "", tools.ErrUnbound
		}
		return "", nil
	})
	_, err := mustSet(t, late).Call(t.Context(), asked(`{"n":1}`), tools.Options{})
	assert.ErrorIs(t, err, tools.ErrUnbound)
}

func TestBoundBehindAPointer(t *testing.T) {
	t.Parallel()
	fn := func(_ context.Context, in pointers) (string, error) { return string(in.User.Value()), nil }
	set := mustSet(t, tools.New("ask", "Asks.", fn), tools.New("ask2", "Asks.", func(ctx context.Context, in *pointers) (string, error) { return fn(ctx, *in) }))
	for _, name := range []string{"ask", "ask2"} {
		call := asked(``)
		call.Name = name
		answer, err := set.Call(bindAll(t.Context()), call, tools.Options{})
		require.NoError(t, err)
		assert.Equal(t, "ann", answer.Text())
	}
}

func TestBoundMistakes(t *testing.T) {
	t.Parallel()
	raw := tools.Raw(llm.ToolSpec{Name: "ask", Description: "Asks.", Schema: json.RawMessage(`{"properties":{"text":{}}}`)}, nothing)
	tests := []struct {
		tool tools.Tool
		want string
	}{
		{tools.New("ask", "Asks.", func(context.Context, nested) (string, error) { return "", nil }), "a Bound must be a field of the struct of the arguments"},
		{tools.Fix[userID](raw, "user"), `there is no argument "user" to fix`},
		{tools.Fix[userID](tools.Tool{}, "user"), "not made by New or Raw"},
	}
	for _, test := range tests {
		_, err := tools.NewSet(test.tool)
		assert.ErrorContains(t, err, test.want)
		assert.Error(t, test.tool.Err(), "the tool has no error")
	}
	assert.Error(t, new(tools.Bound[userID]).UnmarshalJSON(nil), "a bound value was read from JSON")
	assert.Equal(t, userID("ann"), tools.BoundTo(userID("ann")).Value())
}

func nothing(context.Context, json.RawMessage) (tools.Result, error) { return tools.Result{}, nil }

// TestFixedValueHasToFit proves that a bound value that does not fit the schema of the tool
// is an error that names the argument.
func TestFixedValueHasToFit(t *testing.T) {
	t.Parallel()
	raw := tools.Raw(llm.ToolSpec{Name: "ask", Description: "Asks.", Schema: json.RawMessage(`{"properties":{"user":{"type":"integer"}}}`)}, nothing)
	ctx := tools.WithBound(bindAll(t.Context()), func() {})
	for _, tool := range []tools.Tool{tools.Fix[userID](raw, "user"), tools.Fix[func()](raw, "user")} {
		answer, err := mustSet(t, tool).Call(ctx, asked(``), tools.Options{})
		require.NoError(t, err)
		assert.Equal(t, llm.StatusError, answer.Status)
		assert.True(t, strings.HasPrefix(answer.Text(), "argument user, set by the program: "))
	}
	answer, err := mustSet(t, tools.Fix[int](raw, "user")).Call(tools.WithBound(t.Context(), 7), asked(``), tools.Options{})
	require.NoError(t, err)
	assert.Equal(t, llm.StatusSuccess, answer.Status)
}

func TestNodesBind(t *testing.T) {
	t.Parallel()
	who := state.Last[string]("who")
	schema, err := statecore.NewSchema[state.Handle](messages, oneCall, who)
	require.NoError(t, err)
	broken := errors.New("no session")
	o := tools.Options{Bind: tools.Bindings{
		tools.Bind(func(_ context.Context, s state.View) (userID, error) {
			if who.Get(s) == "" {
				return "", broken
			}
			return userID(who.Get(s)), nil
		}),
		tools.Bind(func(ctx context.Context, _ state.View) (tenant, error) {
			user, _ := tools.BoundFrom[userID](ctx)
			return tenant{len(user)}, nil
		}),
	}}
	set := mustSet(t, tools.New("ask", "Asks.", func(_ context.Context, in query) (tenant, error) { return in.Tenant.Value(), nil }))
	for name, node := range map[string]func(context.Context, state.View) (state.Update, error){
		"Node": tools.Node(set, messages, o), "CallNode": tools.CallNode(set, oneCall, messages, o),
	} {
		for _, user := range []string{"ann", ""} {
			call := asked(`{"text":"x"}`)
			view := after(t, schema, schema.Empty(), []state.Write{messages.Put(llm.Assistant("", call)), oneCall.Put(call), who.Put(user)})
			update, err := node(t.Context(), view)
			if user == "" {
				assert.ErrorIs(t, err, broken, name)
				continue
			}
			require.NoError(t, err)
			last, _ := messages.Last(after(t, schema, view, update))
			assert.Equal(t, `{"ID":3}`, last.Text(), name)
		}
	}
}
