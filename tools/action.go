package tools

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// An Action is a call that is meant to be made: a step of a plan, or a call that
// was recorded while planning.
type Action struct {
	// ID tells the actions of a plan apart.
	ID string `json:"id"`
	// Tool is the name of the tool.
	Tool string `json:"tool"`
	// Arguments are those of the call. Empty counts as {}.
	Arguments json.RawMessage `json:"args,omitempty"`
	// DependsOn are the ids of actions that come first.
	DependsOn []string `json:"depends_on,omitempty"`
}

// Planning records calls instead of making them: a model that plans sees at once
// what its reading calls return, and what would change something waits.
type Planning struct {
	// Rule selects the calls that are recorded. The zero Rule means [Destructive].
	Rule Rule
	// Actions is the channel that they are put into, each with the id of its
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
