package llm_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// drain reads a stream to its end and ignores its error.
func drain(stream iter.Seq2[llm.Chunk, error]) {
	stream(func(llm.Chunk, error) bool { return true })
}

func TestTrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var started []llm.Request
		var ended []llm.Exchange
		hooks := llm.Hooks{
			Start: func(ctx context.Context, r llm.Request) context.Context {
				started = append(started, r)
				return context.WithValue(ctx, key{}, len(started))
			},
			End: func(ctx context.Context, e llm.Exchange) {
				assert.Equal(t, len(started), ctx.Value(key{}))
				ended = append(ended, e)
			},
		}
		first := llmtest.Call("f", `{"a":1}`).After(time.Second).Costing(llm.Usage{Input: 3, Output: 2})
		first.Pace = time.Second
		script := llmtest.NewScript(first, llmtest.Fail(errDown), llmtest.Reply{Chunks: []llm.Chunk{{Kind: "?"}}})
		model := llm.Trace(script, hooks)
		reply, err := llm.Generate(t.Context(), model, hello)
		require.NoError(t, err)
		e := ended[0]
		assert.Equal(t, reply.ID, e.Reply.ID)
		assert.Equal(t, int64(5), e.Usage().Total)
		assert.Equal(t, time.Second, e.FirstChunk)
		assert.Equal(t, 3*time.Second, e.Duration)
		assert.Equal(t, 3, e.Chunks)
		assert.False(t, e.Left)
		assert.NoError(t, e.Err)
		_, err = llm.Generate(t.Context(), model, hello)
		assert.ErrorIs(t, err, llm.ErrOverloaded)
		e = ended[1]
		assert.ErrorIs(t, e.Err, llm.ErrOverloaded)
		assert.False(t, e.Left)
		assert.Zero(t, e.FirstChunk)
		assert.Equal(t, (llm.Usage{}), e.Usage())
		drain(model.Stream(t.Context(), hello))
		e = ended[2]
		assert.ErrorIs(t, e.Err, llm.ErrMalformed)
		assert.Empty(t, e.Reply.Role)
		assert.Len(t, started, 3)
		assert.Len(t, ended, 3)
		drain(llm.Trace(llmtest.Echo{}, llm.Hooks{}).Stream(t.Context(), hello))
	})
}

// A reply after other models have failed is logged as a warning with their names. Otherwise nobody
// would notice a wrong key of the first model.
func TestLogWarnsOfModelsThatWerePassedOver(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelWarn}))
	denied := llm.Classify(llm.Error{Status: 401, Message: "wrong key"})
	model := llm.Fallback(llm.Log(llmtest.NewScript(llmtest.Fail(denied)), "first", slog.New(slog.DiscardHandler)), llmtest.NewScript(llmtest.Say("a")))
	_, err := llm.Generate(t.Context(), llm.Log(model, "both", logger), hello)
	require.NoError(t, err)
	assert.Contains(t, b.String(), `level=WARN msg="model answered after others failed" model=both`)
	assert.Contains(t, b.String(), "model 1 of 2: "+denied.Error())
}

func TestLog(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "duration", "first_chunk":
			return slog.Attr{}
		}
		return a
	}}))
	secret := llm.Request{Messages: []llm.Message{llm.User("secret")}, Tools: []llm.ToolSpec{{Name: "f", Schema: []byte(`{}`)}}}
	script := llmtest.NewScript(llmtest.Call("f", `{}`).Costing(llm.Usage{Input: 3, Output: 2, Cached: 1}), llmtest.Fail(errDown), llmtest.Say("a"))
	model := llm.Log(script, "m-1", logger)
	for range 2 {
		drain(model.Stream(t.Context(), secret))
	}
	for _, err := range model.Stream(t.Context(), hello) {
		assert.NoError(t, err)
		break
	}
	want := `level=INFO msg="model answered" model=m-1 messages=1 tools=1 chunks=2 stop_reason=tool_calls tool_calls=1 input_tokens=3 output_tokens=2 cached_tokens=1
level=WARN msg="model failed" model=m-1 messages=1 tools=1 error="llm: provider overloaded (status 503)" retryable=true status=503
level=INFO msg="model was left" model=m-1 messages=1 chunks=1
`
	assert.Equal(t, want, b.String())
	quiet := llm.Log(llmtest.Echo{}, "m-1", slog.New(slog.DiscardHandler))
	_, err := llm.Generate(t.Context(), quiet, hello)
	assert.NoError(t, err)
}
