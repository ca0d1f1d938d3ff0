package agent_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// If a graph around an agent does not declare a channel of the agent, the error of a read says how to declare the channel.
func TestAChannelOfTheAgentAloneIsNotReadOutside(t *testing.T) {
	t.Parallel()
	b := graph.New("desk", agent.Messages)
	b.Subgraph("agent", newAgent(t, llmtest.NewScript(llmtest.Say("ok")), nil, agent.Options{}))
	b.Edge(graph.Start, "agent")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.PanicsWithError(t, `state: channel "agent_result": the graph does not have this channel; pass the channel to graph.New, or for an agent to agent.Options.Channels`, func() { agent.Result.Get(snap) })
}

// If a graph around an agent does not declare the conversation, the error of the run names the channel to declare.
func TestAnAgentWithoutMessagesNamesTheChannelToDeclare(t *testing.T) {
	t.Parallel()
	b := graph.New("desk")
	b.Subgraph("agent", newAgent(t, llmtest.NewScript(llmtest.Say("ok")), nil, agent.Options{}))
	b.Edge(graph.Start, "agent")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Begin())
	require.ErrorIs(t, err, llm.ErrInvalid)
	require.ErrorContains(t, err, `put one into channel "messages"; a graph around the agent must declare it in graph.New`)
}
