package plan

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// MakePlan is the name of the tool that [Tool] returns.
const MakePlan = "make_plan"

const makeText = "Notes several tool calls as a plan, to be run together. An action waits for those in depends_on. " +
	`A string "${id}" in args stands for the result of another action, "${id.0.name}" for a part of it; "$${" stands for "${".`

const makeSchema = `{"type":"object","properties":{"actions":{"type":"array","minItems":1,"items":{"type":"object","properties":{
	"id":{"type":"string"},"tool":{"type":"string"},"args":{"type":"object"},"depends_on":{"type":"array","items":{"type":"string"}}
},"required":["id","tool"],"additionalProperties":false}}},"required":["actions"],"additionalProperties":false}`

// Tool returns a tool that a model calls with a plan for the tools of a set. If the plan has
// mistakes, the answer lists them. A valid plan is put into the channel, and [Node] runs it.
// The tool itself runs no action.
func Tool(set *tools.Set, actions *state.ListChannel[tools.Action]) tools.Tool {
	spec := llm.ToolSpec{Name: MakePlan, Description: makeText, Schema: json.RawMessage(makeSchema)}
	return planTool(spec, set, func(_ context.Context, planned []tools.Action) (tools.Result, error) {
		return tools.Result{
			Text:   fmt.Sprintf("the plan is noted; it has %d actions", len(planned)),
			Update: state.Update{actions.Put(planned...)},
		}, nil
	})
}

// planTool returns a tool whose argument is a plan. It calls fn if the plan has no mistakes.
func planTool(spec llm.ToolSpec, set *tools.Set, fn func(context.Context, []tools.Action) (tools.Result, error)) tools.Tool {
	return tools.Raw(spec, func(ctx context.Context, arguments json.RawMessage) (tools.Result, error) {
		var in struct {
			Actions []tools.Action `json:"actions"`
		}
		if err := json.Unmarshal(arguments, &in); err != nil {
			return tools.Result{}, err
		}
		if err := Check(set, in.Actions, nil); err != nil {
			return tools.Result{Text: err.Error(), Failed: true}, nil
		}
		return fn(ctx, in.Actions)
	})
}
