package llm_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// TestWithWrapNests proves that the wrappers of a context apply once to each request, the wrapper of
// the outer context outermost, and not to a model inside a Retry.
func TestWithWrapNests(t *testing.T) {
	t.Parallel()
	var log []string
	wrap := func(name string) func(llm.Model) llm.Model {
		return func(m llm.Model) llm.Model {
			return llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
				log = append(log, name+" "+llm.NameOf(m).Model)
				return m.Stream(ctx, r)
			})
		}
	}
	ctx := llm.WithWrap(llm.WithWrap(t.Context(), wrap("outer")), wrap("inner"))
	for _, policy := range []llm.RetryPolicy{{}, {Whole: true}} {
		log = nil
		m := llm.Retry(llm.Named(llmtest.Echo{}, llm.ModelName{Provider: "test", Model: "echo"}), policy)
		reply, err := llm.Generate(ctx, m, llm.Request{Messages: []llm.Message{llm.User("hi")}})
		require.NoError(t, err)
		assert.Equal(t, "hi", reply.Text())
		assert.Equal(t, []string{"outer ", "inner echo"}, log)
	}

	_, err := llm.Generate(ctx, nil, llm.Request{Messages: []llm.Message{llm.User("hi")}})
	require.ErrorIs(t, err, llm.ErrInvalid)
	assert.Len(t, log, 2)
}

// TestNameOfLooksThroughWrappers proves that a wrapped model keeps its name, and that a fallback has none.
func TestNameOfLooksThroughWrappers(t *testing.T) {
	t.Parallel()
	name := llm.ModelName{Provider: "test", Model: "echo"}
	m := llm.Named(llmtest.Echo{}, name)
	assert.Equal(t, name, llm.NameOf(m))
	assert.Equal(t, "test echo", fmt.Sprint(m))
	assert.Equal(t, name, llm.NameOf(llm.Retry(llm.Limit(llm.Trace(m, llm.Hooks{}), llm.Limits{Concurrent: 1}), llm.RetryPolicy{Whole: true})))
	assert.Zero(t, llm.NameOf(llmtest.Echo{}))
	assert.Zero(t, llm.NameOf(llm.Fallback(m, m)))
	assert.Zero(t, llm.NameOf(nil))
}

// TestWithWrapWrapsTheModelsOfAFallback proves that WithWrap wraps each model that a fallback asks and not the fallback,
// also if a retry or another fallback contains it. A fallback in a model of another type counts as one model.
func TestWithWrapWrapsTheModelsOfAFallback(t *testing.T) {
	t.Parallel()
	named := func(name string, m llm.Model) llm.Model { return llm.Named(m, llm.ModelName{Model: name}) }
	fails := func(name string) llm.Model {
		return named(name, llmtest.NewScript(llmtest.Reply{Err: llm.ErrOverloaded}))
	}
	opaque := func(m llm.Model) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] { return m.Stream(ctx, r) })
	}
	for name, tt := range map[string]struct {
		model llm.Model
		want  []string
	}{
		"fallback":             {llm.Fallback(fails("a"), named("b", llmtest.Echo{}), fails("c")), []string{"a", "b"}},
		"in a retry":           {llm.Retry(llm.Fallback(fails("a"), named("b", llmtest.Echo{})), llm.RetryPolicy{}), []string{"a", "b"}},
		"in a fallback":        {llm.Fallback(llm.Fallback(fails("a"), fails("b")), named("c", llmtest.Echo{})), []string{"a", "b", "c"}},
		"retries in it":        {llm.Fallback(llm.Retry(fails("a"), llm.RetryPolicy{Attempts: 1}), named("b", llmtest.Echo{})), []string{"a", "b"}},
		"with a name":          {named("both", llm.Fallback(fails("a"), llmtest.Echo{})), []string{"both"}},
		"in a model of my own": {opaque(llm.Fallback(fails("a"), llmtest.Echo{})), []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			ctx := llm.WithWrap(t.Context(), func(m llm.Model) llm.Model {
				return llm.Trace(m, llm.Hooks{Start: func(ctx context.Context, _ llm.Request) context.Context {
					asked = append(asked, llm.NameOf(m).Model)
					return ctx
				}})
			})
			_, err := llm.Generate(ctx, tt.model, llm.Request{Messages: []llm.Message{llm.User("hi")}})
			require.NoError(t, err)
			assert.Equal(t, tt.want, asked)
		})
	}
}
