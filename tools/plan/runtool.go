package plan

import (
	"context"
	"encoding/json"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// RunPlan is the name of the tool that [RunTool] returns.
const RunPlan = "run_plan"

const runText = "Runs several tool calls that depend on each other, in one step, and returns their results by id. An action waits for those in depends_on. " +
	`A string "${id}" in args stands for the result of another action, "${id.0.name}" for a part of it; "$${" stands for "${".`

// RunTool returns a tool that a model calls with a plan for the tools of a set. The tool runs the
// plan. Its result is a JSON object with the [Result] of each action, by id. If the plan has
// mistakes, no action runs and the answer lists them. Approval, Once and the limits of o apply to
// each action. The actions have the bound values of the call. With Once, a tool that returns writes
// fails. The timeout of the call must be long enough for the whole plan. The description has the
// names of the tools, but not their schemas: give the model the tools too, or describe them in the
// prompt.
//
// In an agent, use middleware.Plan.
func RunTool(set *tools.Set, o tools.Options) tools.Tool {
	names, _ := json.Marshal(set.Names()) // a list of strings has a JSON form
	spec := llm.ToolSpec{Name: RunPlan, Description: runText + " The tools are " + string(names) + ".", Schema: json.RawMessage(makeSchema)}
	return planTool(spec, set, func(ctx context.Context, actions []tools.Action) (tools.Result, error) {
		results, update, err := run(ctx, set, actions, Options{Tools: inCall(o)})
		if err != nil {
			return tools.Result{}, err
		}
		text, err := json.Marshal(results)
		return tools.Result{Text: string(text), Update: update}, err
	})
}

// inCall returns options whose keys differ from the keys of the call that runs the plan.
func inCall(o tools.Options) tools.Options {
	if once := o.Once; once != nil {
		o.Once = func(ctx context.Context, key string, call func(context.Context) (llm.Message, error)) (llm.Message, error) {
			return once(ctx, "plan/"+key, call)
		}
	}
	if ask := o.Approval.Ask; ask != nil {
		o.Approval.Ask = func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return ask(ctx, "plan/"+key, q)
		}
	}
	return o
}
