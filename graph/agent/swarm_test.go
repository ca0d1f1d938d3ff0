package agent_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// An agent stays active until it hands over, even in a later run of a new build of the swarm. A second
// handover in a reply is answered with an error, and the other calls run.
func TestSwarmRemembersTheActiveAgent(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	am := llmtest.NewScript(
		llmtest.Calls(
			llm.ToolCall{ID: "1", Name: "transfer_to_bob"}, llm.ToolCall{ID: "2", Name: "add", Arguments: []byte(`{"a":1,"b":2}`)},
			llm.ToolCall{ID: "3", Name: "transfer_to_carol"}),
		llmtest.Say("12"))
	bm := llmtest.NewScript(llmtest.Say("Arr, Bob here!"), llmtest.Call("transfer_to_alice", `{}`))
	swarm := func() *graph.Thread {
		build := func(name string, model llm.Model, set *tools.Set, to ...string) *graph.Graph {
			o := agent.Options{System: "You are " + name + "."}
			for _, other := range to {
				o.Use = append(o.Use, agent.Handoff(other, "It helps."))
			}
			g, err := agent.New(name, model, set, o)
			require.NoError(t, err)
			return g
		}
		g, err := agent.Swarm("swarm", []*graph.Graph{
			build("alice", am, newSet(t, tools.New("add", "Adds.", add)), "bob", "carol"), build("bob", bm, nil, "alice"), build("carol", llmtest.Echo{}, nil, "alice"),
		}, agent.SwarmOptions{Graph: graph.Options{Checkpoints: store}})
		require.NoError(t, err)
		return g.Thread("1")
	}
	snap, err := swarm().Invoke(t.Context(), agent.Messages.Put(llm.User("bob, please")))
	require.NoError(t, err)
	assert.Equal(t, "bob", agent.Active.Get(snap))
	handedOver := "user:bob, please | assistant | tool:The conversation was handed over to bob. | tool:3" +
		" | tool:The conversation can be handed over once in a reply, and the first handover counts. | assistant:Arr, Bob here!"
	assert.Equal(t, handedOver, roles(snap))
	assert.Equal(t, "bob", agent.Result.Get(snap).Agent)
	snap, err = swarm().Invoke(t.Context(), agent.Messages.Put(llm.User("5+7?")))
	require.NoError(t, err)
	assert.Equal(t, handedOver+" | user:5+7? | assistant | tool:The conversation was handed over to alice. | assistant:12", roles(snap))
	assert.Equal(t, "alice", agent.Active.Get(snap))
	assert.Equal(t, "You are alice.", am.Requests()[1].Messages[0].Text())
}

// A handover inside a swarm that is an agent of another swarm does not change the active agent of the
// outer swarm.
func TestSwarmInASwarmHasItsOwnActiveAgent(t *testing.T) {
	t.Parallel()
	build := func(name string, replies []llmtest.Reply, to string) *graph.Graph {
		g, err := agent.New(name, llmtest.NewScript(replies...), nil, agent.Options{Use: []agent.Middleware{agent.Handoff(to, "It helps.")}})
		require.NoError(t, err)
		return g
	}
	team, err := agent.Swarm("team", []*graph.Graph{
		build("ann", []llmtest.Reply{llmtest.Call("transfer_to_ben", `{}`), llmtest.Say("ann again")}, "ben"), build("ben", []llmtest.Reply{llmtest.Say("ben")}, "ann"),
	}, agent.SwarmOptions{})
	require.NoError(t, err)
	g, err := agent.Swarm("all", []*graph.Graph{
		build("desk", []llmtest.Reply{llmtest.Call("transfer_to_team", `{}`)}, "team"), team,
	}, agent.SwarmOptions{Graph: memory()})
	require.NoError(t, err)
	for _, want := range []string{"ben", "ann again"} {
		snap, err := g.Thread("1").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
		assert.Equal(t, "team", agent.Active.Get(snap))
		last, _ := agent.Messages.Last(snap)
		assert.Equal(t, want, last.Text())
	}
}

func TestSwarmIsChecked(t *testing.T) {
	t.Parallel()
	other, err := agent.New("other", llmtest.Echo{}, nil, agent.Options{Messages: state.Keyed("own", llm.ByID)})
	require.NoError(t, err)
	for want, agents := range map[string][]*graph.Graph{
		`swarm "s": it has no agents`:                  nil,
		`swarm "s": agent 1 is nil`:                    {nil},
		`agent "other" has no channel "messages"; all`: {other},
	} {
		_, err := agent.Swarm("s", agents, agent.SwarmOptions{})
		require.ErrorContains(t, err, want)
	}
	// A handoff to an agent that is not in the swarm fails the run, and names the agent.
	lost, err := agent.New("lost", llmtest.NewScript(llmtest.Call("transfer_to_nobody", `{}`)), nil, agent.Options{Use: []agent.Middleware{agent.Handoff("nobody", "Nobody.")}})
	require.NoError(t, err)
	g, err := agent.Swarm("s", []*graph.Graph{lost}, agent.SwarmOptions{})
	require.NoError(t, err)
	_, err = g.Invoke(context.Background(), agent.Messages.Put(llm.User("go")))
	require.ErrorContains(t, err, `"nobody"`)
}
