package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// An agent whose plan has a mistake is told, and does better; then the plan runs.
func TestToolMakesAPlan(t *testing.T) {
	t.Parallel()
	var s stage
	set := s.set(t)
	planner, err := tools.NewSet(plan.Tool(set, actions))
	if err != nil {
		t.Fatal(err)
	}
	script := llmtest.NewScript(
		llmtest.Call(plan.MakePlan, `{"actions":[{"id":"a","tool":"say","args":{"text":"${b}"}}]}`),
		llmtest.Call(plan.MakePlan, `{"actions":[]}`),
		llmtest.Call(plan.MakePlan, `{"actions":[{"id":"b","tool":"echo","args":{"n":9007199254740993}},{"id":"a","tool":"say","args":{"text":"${b.n}"},"depends_on":["b"]}]}`),
		llmtest.Say("planned"),
	)
	helper, err := agent.New("planner", script, planner, agent.Options{Channels: []state.Handle{actions}})
	if err != nil {
		t.Fatal(err)
	}
	b := graph.New("plan", agent.Messages, actions, results)
	b.Subgraph("think", helper)
	b.Node("run", plan.Node(set, actions, results, tools.Options{Once: graph.Once[llm.Message]}))
	b.Edge(graph.Start, "think")
	b.Edge("think", "run")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, m := range agent.Messages.Get(snap) {
		if m.Role == llm.RoleTool {
			answers = append(answers, string(m.Status)+" "+m.Text())
		}
	}
	for i, want := range []string{`error plan: invalid plan: action "a": text: there is no action for the reference "${b}"`, "error invalid arguments for make_plan: actions: want an array of at least 1, got 0", "success the plan is noted; it has 2 actions"} {
		if i >= len(answers) || !strings.HasPrefix(answers[i], want) {
			t.Errorf("answer %d: got %q, want %q", i, answers, want)
		}
	}
	if got := results.Get(snap)["a"]; got.Message != "9007199254740993" || !got.Success {
		t.Errorf("got %+v", results.Get(snap))
	}
	var args []json.RawMessage
	for _, a := range actions.Get(snap) {
		args = append(args, a.Arguments)
	}
	if len(args) != 2 || string(args[0]) != `{"n":9007199254740993}` {
		t.Errorf("got %s", args)
	}
}
