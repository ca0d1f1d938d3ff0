package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func TestFallback(t *testing.T) {
	t.Parallel()
	down := func() *llmtest.Script { return llmtest.NewScript(llmtest.Fail(errDown)) }
	tests := []struct {
		name   string
		models []*llmtest.Script
		want   string
		is     error
		asked  []int
	}{
		{"the first", []*llmtest.Script{llmtest.NewScript(llmtest.Say("a")), llmtest.NewScript(llmtest.Say("b"))}, "a", nil, []int{1, 0}},
		{"the second", []*llmtest.Script{down(), llmtest.NewScript(llmtest.Say("b"))}, "b", nil, []int{1, 1}},
		{"what one refuses", []*llmtest.Script{llmtest.NewScript(llmtest.Fail(&llm.Error{Kind: llm.ErrContextTooLong})), llmtest.NewScript(llmtest.Say("b"))}, "b", nil, []int{1, 1}},
		{"none", []*llmtest.Script{down(), down()}, "", llm.ErrOverloaded, []int{1, 1}},
		{"not once a chunk was seen", []*llmtest.Script{llmtest.NewScript(llmtest.Reply{Message: llm.Assistant("half"), Err: errDown}), llmtest.NewScript(llmtest.Say("b"))}, "", llm.ErrOverloaded, []int{1, 0}},
		{"not for an invalid request", []*llmtest.Script{llmtest.NewScript(llmtest.Fail(llm.ErrInvalid)), llmtest.NewScript(llmtest.Say("b"))}, "", llm.ErrInvalid, []int{1, 0}},
		{"no models", nil, "", llm.ErrInvalid, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var models []llm.Model
			for _, m := range test.models {
				models = append(models, m)
			}
			got, err := llm.Generate(t.Context(), llm.Fallback(models...), hello)
			require.ErrorIs(t, err, test.is)
			assert.Equal(t, test.want, got.Text())
			for i, m := range test.models {
				assert.Len(t, m.Requests(), test.asked[i], "requests to model %d", i)
			}
		})
	}
}

// named is a model with a name.
type named struct {
	llm.Model
	name string
}

func (n named) String() string { return n.name }

// TestFallbackNamesTheModelsThatFailed proves that the reply, or the error if all models fail,
// names each failed model with its error. A model can be wrapped, or be a Fallback itself.
func TestFallbackNamesTheModelsThatFailed(t *testing.T) {
	t.Parallel()
	denied := &llm.Error{Kind: llm.ErrAuth, Provider: "acme", Status: 401}
	failing := func(name string, err error) llm.Model {
		m := llm.Retry(llm.Limit(named{llmtest.NewScript(llmtest.Fail(err)), name}, llm.Limits{}), llm.RetryPolicy{Attempts: 1, Whole: true})
		return llm.Log(m, "main", slog.New(slog.DiscardHandler))
	}
	good := llmtest.NewScript(llmtest.Say("ok"))
	reply, err := llm.Generate(t.Context(), llm.Fallback(failing("first", denied), llm.Fallback(failing("second", errDown), good)), hello)
	require.NoError(t, err)
	assert.Equal(t, []llm.PassedOver{{Model: "first", Error: denied.Error()}, {Model: "second", Error: errDown.Error()}}, reply.PassedOver())

	stored, err := json.Marshal(reply)
	require.NoError(t, err)
	var again llm.Message
	require.NoError(t, json.Unmarshal(stored, &again))
	assert.Equal(t, reply.PassedOver(), again.PassedOver())

	reply, err = llm.Generate(t.Context(), llm.Fallback(llmtest.NewScript(llmtest.Say("ok"))), hello)
	require.NoError(t, err)
	assert.Empty(t, reply.PassedOver())
	assert.Empty(t, reply.Metadata)

	_, err = llm.Generate(t.Context(), llm.Fallback(failing("first", denied), failing("second", errDown)), hello)
	require.ErrorIs(t, err, llm.ErrAuth)
	require.ErrorIs(t, err, llm.ErrOverloaded)
	require.ErrorContains(t, err, "fallback: first: "+denied.Error())
	require.ErrorContains(t, err, "fallback: second: ")
	e, ok := errors.AsType[*llm.ModelError](err)
	require.True(t, ok)
	assert.Equal(t, "first", e.Model)
}

func TestFallbackEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	first := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		cancel()
		return playing(nil, ctx.Err()).Stream(ctx, hello)
	})
	second := llmtest.NewScript(llmtest.Say("b"))
	for _, err := range llm.Fallback(first, second).Stream(ctx, hello) {
		assert.ErrorIs(t, err, context.Canceled)
	}
	assert.Empty(t, second.Requests())
}
