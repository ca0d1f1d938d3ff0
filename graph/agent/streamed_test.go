package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
)

// TestStreamedAnswerIsCountedOnce proves for the recipe of Example_streamedAnswer that a wrapper of models sees each
// request once, with the name of its model, and that the chunks of a reply have one id.
func TestStreamedAnswerIsCountedOnce(t *testing.T) {
	t.Parallel()
	called := func(name string) llm.Model {
		return llm.Named(llmtest.NewScript(llmtest.Call("answer", `{"rain":true}`)), llm.ModelName{Model: name})
	}
	failing := llm.Named(llmtest.NewScript(llmtest.Fail(errors.New("down"))), llm.ModelName{Model: "first"})
	for name, tt := range map[string]struct {
		model llm.Model
		want  []string
	}{
		"a model":    {called("only"), []string{"only"}},
		"a fallback": {llm.Fallback(failing, called("second")), []string{"first", "second"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			count := func(m llm.Model) llm.Model {
				asked = append(asked, llm.NameOf(m).Model)
				return m
			}
			b := graph.New("weather")
			b.Node("forecast", func(ctx context.Context, _ state.View) (state.Update, error) {
				_, _, err := llm.As[struct {
					Rain bool `json:"rain"`
				}](llm.WithWrap(llm.WithWrap(ctx, count), streamed), tt.model, llm.Request{Messages: []llm.Message{llm.User("Athens?")}})
				return nil, err
			})
			b.Edge(graph.Start, "forecast")
			g, err := b.Compile(graph.Options{})
			require.NoError(t, err)
			ids, calls := map[string]bool{}, ""
			for c, err := range agent.Chunks(g.Stream(t.Context())) {
				require.NoError(t, err)
				switch c.Kind {
				case agent.ChunkToolCall, agent.ChunkUsage:
					ids[c.MessageID] = true
					calls += c.Delta.Arguments
				}
			}
			assert.Equal(t, tt.want, asked)
			assert.JSONEq(t, `{"rain":true}`, calls)
			assert.Len(t, ids, 1)
			assert.NotContains(t, ids, "")
		})
	}
}
