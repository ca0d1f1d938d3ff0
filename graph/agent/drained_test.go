package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// A sub-agent that is drained has not failed: the error is not the result of the caller's tool call, and the next run
// continues inside the sub-agent.
func TestADrainedSubAgentContinues(t *testing.T) {
	t.Parallel()
	ctx, drain := context.WithCancelCause(t.Context())
	looked := 0
	set := newSet(t, tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) {
		looked++
		drain(graph.ErrDrained)
		return "a map", nil
	}))
	script := llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "look", Arguments: []byte("{}")}), llmtest.Say("it is here"))
	researcher, err := agent.New("researcher", script, set, agent.Options{})
	require.NoError(t, err)
	boss, err := agent.New("boss", llmtest.NewScript(calls("researcher", "find it"), llmtest.Say("ok")), nil, agent.Options{
		Use: []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: researcher, Description: "It looks things up."})}, Graph: memory(),
	})
	require.NoError(t, err)
	th := boss.Thread("1")
	w := watch(th.Stream(ctx, agent.Messages.Put(llm.User("go"))))
	require.ErrorIs(t, w.err, graph.ErrDrained)
	for _, c := range w.chunks {
		if c.Kind == agent.ChunkToolFinished {
			assert.Equal(t, "look", c.Call.Name)
		}
	}
	snap, err := th.Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "user:go | assistant | tool:it is here | assistant:ok", roles(snap))
	assert.Equal(t, 1, looked)
}
