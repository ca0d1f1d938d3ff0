// Package assistant is the graph of an assistant that plans with tools, asks a
// person before it does what can not be taken back, does it, and says what came
// of it. Which tools there are is up to its caller.
package assistant

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// What a conversation remembers. Every channel may be absent: one that nobody
// wrote has its zero value, and Lookup tells the two apart.
var (
	UserMessage = state.Last[string]("user_message")
	History     = state.Keyed("conversation_history", llm.ByID)

	Actions              = state.Append[tools.Action]("actions")
	RequiresConfirmation = state.Last[bool]("requires_confirmation")
	ExecutionMode        = state.Last[Mode]("execution_mode")
	Results              = state.Map[string, plan.Result]("results")

	PendingConfirmation = state.Last[*Confirmation]("pending_confirmation")
	UserConfirmation    = state.Last[*Answer]("user_confirmation")
	ConfirmationMessage = state.Last[string]("confirmation_message")

	FinalResponse  = state.Last[string]("final_response")
	SessionID      = state.Last[string]("session_id")
	SessionContext = state.Map[string, string]("session_context")

	DiscoveredTools = state.Append[string]("discovered_tools")
	ToolInvocations = state.Append[tools.Action]("tool_invocations")
	Error           = state.Last[string]("error")
)

var channels = []state.Handle{
	UserMessage, History, Actions, RequiresConfirmation, ExecutionMode, Results, PendingConfirmation, UserConfirmation,
	ConfirmationMessage, FinalResponse, SessionID, SessionContext, DiscoveredTools, ToolInvocations, Error,
}

// A Mode says how the actions of a plan are run. Empty means Parallel.
type Mode string

// The modes.
const (
	Parallel   Mode = "parallel"   // those that do not wait for each other at the same time
	Sequential Mode = "sequential" // one after the other
	Confirm    Mode = "confirm"    // when the user has said yes
)

// A Confirmation is what the user is asked.
type Confirmation struct {
	// ID is a hash of the actions: a yes is for exactly these.
	ID      string         `json:"id"`
	Message string         `json:"message"`
	Actions []tools.Action `json:"actions"`
	// Steps say what each action will do.
	Steps []string `json:"steps,omitempty"`
	// Questions are about the calls whose arguments are known.
	Questions []tools.Question `json:"questions,omitempty"`
}

// A form asks about a plan. A page makes it of Schema, which is that of the answer.
type form struct {
	Title  string          `json:"title"`
	Steps  []formStep      `json:"steps,omitempty"`
	Schema json.RawMessage `json:"schema"`
}

type formStep struct {
	Step string `json:"step"`
}

// form returns the form of a confirmation.
func (c *Confirmation) form() form {
	f := form{Schema: json.RawMessage(`{"type":"string","title":"Your answer","enum":["yes","no"]}`)}
	if len(c.Steps) == 1 {
		f.Title = "This will " + c.Steps[0] + ". Confirm?"
		return f
	}
	f.Title = fmt.Sprintf("This will do %d things. Confirm?", len(c.Steps))
	for _, step := range c.Steps {
		f.Steps = append(f.Steps, formStep{step})
	}
	return f
}

var (
	askPlan = graph.NewInterrupt[form, string]("confirm_plan")
	// askLate asks about a call of a running plan. Its arguments contain the result of another
	// action, or have changed since the user said yes to the plan.
	askLate = graph.NewInterrupt[tools.Question, tools.Decision]("confirm_call")
)

// An Open is a question that waits for the user.
type Open struct {
	ID, Message string
	// Answer returns the input with which the conversation goes on. Anything but a yes is a
	// no.
	Answer func(text string) []state.Write
}

// Waiting returns the question that is open, or nil: that of the plan, or that of a call.
func Waiting(s *graph.Snapshot) *Open {
	if s == nil || len(s.Pauses) == 0 {
		return nil
	}
	c := PendingConfirmation.Get(s)
	if open, err := askPlan.Open(s); c != nil && err == nil && len(open) > 0 {
		return &Open{open[0].ID, c.Message, func(text string) []state.Write { return []state.Write{askPlan.Answer(open[0].ID, text)} }}
	}
	if c != nil {
		return &Open{c.ID, c.Message, c.Answer}
	}
	open, err := askLate.Open(s)
	if err != nil || len(open) == 0 {
		return nil
	}
	q := open[0]
	return &Open{q.ID, q.Prompt.Description + " Confirm? (yes/no)", func(text string) []state.Write {
		decision := q.Prompt.Reject("")
		if agreed(&Answer{Text: text}) {
			decision = q.Prompt.Approve()
		}
		return []state.Write{askLate.Answer(q.ID, decision)}
	}}
}

// An Answer is what the user said to a confirmation.
type Answer struct {
	To   string `json:"to"` // the id of the confirmation
	Text string `json:"text"`
	// Approved are the questions about calls that the user saw. The node confirm_actions
	// adds them to a yes.
	Approved []tools.Question `json:"approved,omitempty"`
}

// Ask is the input of a turn: what the user says in a session.
func Ask(session, text string) []state.Write {
	return []state.Write{UserMessage.Put(text), History.Put(llm.User(text)), SessionID.Put(session)}
}

// Answer makes a conversation go on that is paused before confirm_actions. Anything but a yes is a
// no.
func (c *Confirmation) Answer(text string) []state.Write {
	return []state.Write{graph.Continue(), UserConfirmation.Put(&Answer{To: c.ID, Text: text})}
}
