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

// After an answer that cannot be read, the question stays open. This holds for the question of an approval and the
// question of a tool, in an agent, in a sub-agent, and in an agent that is a subgraph. The model does not see the
// error, an approved call stays approved, and after a valid answer the run continues.
func TestAnUnreadableAnswerLeavesTheQuestionOfAToolOpen(t *testing.T) {
	t.Parallel()
	size := graph.NewInterrupt[string, int]("size")
	ran := map[string]int{}
	work := tools.New("work", "Works.", func(ctx context.Context, _ struct{}) (string, error) {
		n, err := size.Wait(ctx, "which size?")
		if err == nil {
			ran["work"] += n
		}
		return "worked", err
	})
	worker := func(t *testing.T, o graph.Options) *graph.Graph {
		t.Helper()
		script := llmtest.NewScript(llmtest.Call("work", `{}`), llmtest.Say("done"))
		return newAgent(t, script, newSet(t, work), agent.Options{Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("work")}}, Graph: o})
	}
	for name, build := range map[string]func(t *testing.T, o graph.Options) *graph.Graph{
		"agent": worker,
		"sub-agent": func(t *testing.T, o graph.Options) *graph.Graph {
			t.Helper()
			boss := llmtest.NewScript(calls("worker", "a"), llmtest.Say("ok"))
			g, err := agent.New("boss", boss, nil, agent.Options{Graph: o, Use: []agent.Middleware{
				agent.AsTool(agent.SubAgent{Name: "worker", Agent: worker(t, graph.Options{}), Description: "It works."}),
			}})
			require.NoError(t, err)
			return g
		},
		"subgraph": func(t *testing.T, o graph.Options) *graph.Graph {
			t.Helper()
			b := graph.New("desk", agent.Messages)
			b.Subgraph("agent", worker(t, graph.Options{}))
			b.Edge(graph.Start, "agent")
			g, err := b.Compile(o)
			require.NoError(t, err)
			return g
		},
	} {
		t.Run(name, func(t *testing.T) {
			ran["work"] = 0
			th := build(t, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}).Thread("1")
			snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			refuse := func(interrupt string, right func(id string) state.Write) {
				t.Helper()
				require.Len(t, snap.Pauses, 1)
				require.Equal(t, interrupt, snap.Pauses[0].Interrupt)
				id := snap.Pauses[0].ID
				for range 2 {
					snap, err = th.Invoke(t.Context(), graph.NewInterrupt[any, string](interrupt).Answer(id, "yes"))
					require.ErrorContains(t, err, "the question is open again")
					require.Len(t, snap.Pauses, 1)
					require.Equal(t, id, snap.Pauses[0].ID)
				}
				snap, err = th.Invoke(t.Context(), right(id))
				require.NoError(t, err)
			}
			open, err := agent.Approval.Open(snap)
			require.NoError(t, err)
			require.Len(t, open, 1)
			refuse(agent.Approval.Name(), func(id string) state.Write { return agent.Approval.Answer(id, open[0].Prompt.Approve()) })
			refuse("size", func(id string) state.Write { return size.Answer(id, 3) })
			require.True(t, snap.Done())
			assert.Equal(t, 3, ran["work"])
			assert.NotContains(t, roles(snap), "cannot be read")
		})
	}
}
