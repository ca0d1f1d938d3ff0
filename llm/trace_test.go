package llm_test

import (
	"bytes"
	"context"
	"errors"
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
				if ctx.Value(key{}) != len(started) {
					t.Error("End has another context than Start returned")
				}
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
		if e.Reply.ID != reply.ID || e.Usage().Total != 5 || e.FirstChunk != time.Second || e.Duration != 3*time.Second || e.Chunks != 3 || e.Left || e.Err != nil {
			t.Errorf("traced %+v", e)
		}
		if _, err := llm.Generate(t.Context(), model, hello); !errors.Is(err, llm.ErrOverloaded) {
			t.Errorf("got %v", err)
		}
		if e := ended[1]; !errors.Is(e.Err, llm.ErrOverloaded) || e.Left || e.FirstChunk != 0 || e.Usage() != (llm.Usage{}) {
			t.Errorf("traced %+v", e)
		}
		drain(model.Stream(t.Context(), hello))
		if e := ended[2]; !errors.Is(e.Err, llm.ErrMalformed) || e.Reply.Role != "" {
			t.Errorf("traced %+v", e)
		}
		if len(started) != 3 || len(ended) != 3 {
			t.Errorf("%d started, %d ended", len(started), len(ended))
		}
		drain(llm.Trace(llmtest.Echo{}, llm.Hooks{}).Stream(t.Context(), hello))
	})
}

// A reply after other models failed is logged as a warning that names them: a wrong key of the first
// model would otherwise never be seen.
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
		if err != nil {
			t.Error(err)
		}
		break
	}
	want := `level=INFO msg="model answered" model=m-1 messages=1 tools=1 chunks=2 stop_reason=tool_calls tool_calls=1 input_tokens=3 output_tokens=2 cached_tokens=1
level=WARN msg="model failed" model=m-1 messages=1 tools=1 error="llm: provider overloaded (status 503)" retryable=true status=503
level=INFO msg="model was left" model=m-1 messages=1 chunks=1
`
	assert.Equal(t, want, b.String())
	quiet := llm.Log(llmtest.Echo{}, "m-1", slog.New(slog.DiscardHandler))
	if _, err := llm.Generate(t.Context(), quiet, hello); err != nil {
		t.Error(err)
	}
}
