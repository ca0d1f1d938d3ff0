package plan_test

import (
	"encoding/json"
	"strings"
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
	"github.com/weft-go/weft/tools/plan"
)

// TestToolMakesAPlan proves that the model gets the mistakes of a plan as the answer, and that
// a valid plan runs.
func TestToolMakesAPlan(t *testing.T) {
	t.Parallel()
	var s stage
	set := s.set(t)
	planner, err := tools.NewSet(plan.Tool(set, actions))
	require.NoError(t, err)
	script := llmtest.NewScript(
		llmtest.Call(plan.MakePlan, `{"actions":[{"id":"a","tool":"say","args":{"text":"${b}"}}]}`),
		llmtest.Call(plan.MakePlan, `{"actions":[]}`),
		llmtest.Call(plan.MakePlan, `{"actions":[{"id":"b","tool":"echo","args":{"n":9007199254740993}},{"id":"a","tool":"say","args":{"text":"${b.n}"},"depends_on":["b"]}]}`),
		llmtest.Say("planned"),
	)
	helper, err := agent.New("planner", script, planner, agent.Options{Channels: []state.Handle{actions}})
	require.NoError(t, err)
	b := graph.New("plan", agent.Messages, actions, results)
	b.Subgraph("think", helper)
	b.Node("run", plan.Node(set, actions, results, tools.Options{Once: graph.Once[llm.Message]}))
	b.Edge(graph.Start, "think")
	b.Edge("think", "run")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	var answers []string
	for _, m := range agent.Messages.Get(snap) {
		if m.Role == llm.RoleTool {
			answers = append(answers, string(m.Status)+" "+m.Text())
		}
	}
	for i, want := range []string{`error plan: invalid plan: action "a": text: there is no action for the reference "${b}"`, "error invalid arguments for make_plan: actions: want an array of at least 1, got 0", "success the plan is noted; it has 2 actions"} {
		require.Less(t, i, len(answers), "answer %d", i)
		assert.True(t, strings.HasPrefix(answers[i], want), "answer %d", i)
	}
	got := results.Get(snap)["a"]
	assert.Equal(t, "9007199254740993", got.Message)
	assert.True(t, got.Success)
	var args []json.RawMessage
	for _, a := range actions.Get(snap) {
		args = append(args, a.Arguments)
	}
	require.Len(t, args, 2)
	assert.Equal(t, `{"n":9007199254740993}`, string(args[0]))
}
