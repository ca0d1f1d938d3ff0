package recipes_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// ReWOO: the model plans all tool calls at once, with references to the results of earlier calls.
// The calls run without the model; calls that do not depend on each other run at the same time.
// Then the model answers from the results. Each call is stored, so a killed run makes no call
// twice.
func Example_rewoo() {
	set := must(tools.NewSet(
		tools.New("winner", "Returns the winner of a race.", func(_ context.Context, in struct {
			Race string `json:"race"`
		},
		) (string, error) {
			return "Ann", nil
		}),
		tools.New("age", "Returns a person's age.", func(_ context.Context, in struct {
			Name string `json:"name"`
		},
		) (int, error) {
			return map[string]int{"Ann": 31}[in.Name], nil
		}),
	))
	actions := state.Append[tools.Action]("actions")
	results := state.Map[string, plan.Result]("results")
	model := llmtest.NewScript(
		llmtest.Call(plan.MakePlan, `{"actions":[{"id":"who","tool":"winner","args":{"race":"marathon"}},{"id":"old","tool":"age","args":{"name":"${who}"}}]}`),
		llmtest.Say("The plan is made."),
		llmtest.Say("Ann won, and she is 31."),
	)
	planner := must(agent.New("planner", model, must(tools.NewSet(plan.Tool(set, actions))), agent.Options{
		System: "Plan all calls with make_plan.", Channels: []state.Handle{actions},
	}))

	b := graph.New("rewoo", agent.Messages, actions, results)
	b.Subgraph("plan", planner)
	b.Node("work", plan.Node(set, actions, results, tools.Options{Once: graph.Once[llm.Message]}))
	b.Node("solve", func(ctx context.Context, s state.View) (state.Update, error) {
		question := agent.Messages.Get(s)[0].Text()
		text, err := ask(ctx, model, fmt.Sprint("Answer from the results: ", question, results.Get(s)))
		return state.Update{agent.Messages.Put(llm.Assistant(text))}, err
	})
	b.Edge(graph.Start, "plan")
	b.Edge("plan", "work")
	b.Edge("work", "solve")
	g := must(b.Compile(graph.Options{}))

	snap := must(g.Invoke(context.Background(), agent.Messages.Put(llm.User("How old is the winner of the marathon?"))))
	fmt.Println(results.Get(snap)["who"].Message, results.Get(snap)["old"].Message)
	last, _ := agent.Messages.Last(snap)
	fmt.Println(last)
	// Output:
	// Ann 31
	// assistant: Ann won, and she is 31.
}
