package agent_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
)

// TestUnfitAnswersAreBounded proves that a model whose answers never fit is asked MaxTurns times, and
// twice more.
func TestUnfitAnswersAreBounded(t *testing.T) {
	t.Parallel()
	type verdict struct {
		Score int `json:"score"`
	}
	reply := llm.Assistant("", llm.ToolCall{ID: "1", Name: "answer", Arguments: []byte(`{"score":"high"}`)})
	asked := 0
	model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		asked++
		return llm.Reply(reply)
	})
	g := newAgent(t, model, nil, agent.Options{MaxTurns: 4, Answer: agent.Structured[verdict]()})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, 6, asked)
	r := agent.Result.Get(snap)
	assert.Equal(t, agent.Unfit, r.Reason)
	assert.Contains(t, r.Problem, "score")
}
