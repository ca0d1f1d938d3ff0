package tools

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// An Action is a planned tool call: a step of a plan, or a call that [Planning] recorded.
type Action struct {
	// ID identifies the action in its plan.
	ID string `json:"id"`
	// Tool is the name of the tool.
	Tool string `json:"tool"`
	// Arguments are the arguments of the call. Empty means {}.
	Arguments json.RawMessage `json:"args,omitempty"`
	// DependsOn has the ids of the actions that must succeed before this one starts.
	DependsOn []string `json:"depends_on,omitempty"`
}

// Planning records calls as actions instead of running the tools. By default it records
// calls of destructive tools only, so a planning model still gets the results of other
// calls at once.
type Planning struct {
	// Rule selects the calls that are recorded. The zero Rule means [Destructive].
	Rule Rule
	// Actions is the channel for the recorded calls. The id of an action is the id of its
	// call.
	Actions *state.ListChannel[Action]
}

func (p *Planning) holds(t Tool, call llm.ToolCall) bool {
	if p == nil {
		return false
	}
	rule := p.Rule
	if rule.pick == nil {
		rule = Destructive()
	}
	return rule.Selects(t, call)
}

func (p *Planning) record(asked, call llm.ToolCall) *Outcome {
	text := fmt.Sprintf("%s was not run. It is noted as action %q of the plan, and will run when the plan is approved.", call.Name, call.ID)
	return &Outcome{
		Message: llm.ToolResult(asked, text),
		Update:  state.Update{p.Actions.Put(Action{ID: call.ID, Tool: call.Name, Arguments: call.Arguments})},
	}
}
