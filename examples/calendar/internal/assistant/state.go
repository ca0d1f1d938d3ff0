package assistant

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// A Mode says how the actions of a plan are run. Empty means Parallel.
type Mode string

// The modes.
const (
	Parallel   Mode = "parallel"   // independent actions at the same time
	Sequential Mode = "sequential" // one after the other
	Confirm    Mode = "confirm"    // after the user's yes
)

// A Confirmation is a question to the user about a plan.
type Confirmation struct {
	// ID is a hash of the actions, so that a yes approves exactly these actions.
	ID      string         `json:"id"`
	Message string         `json:"message"`
	Actions []tools.Action `json:"actions"`
	// Steps say what each action will do.
	Steps []string `json:"steps,omitempty"`
	// Questions are about the calls whose arguments are known.
	Questions []tools.Question `json:"questions,omitempty"`
	// Request is the user's message. Invocations and Results are the planner's calls and their results.
	Request     string                 `json:"request,omitempty"`
	Invocations []tools.Action         `json:"invocations,omitempty"`
	Results     map[string]plan.Result `json:"results,omitempty"`
	// Next is the earlier open question. The graph asks it again after this one.
	Next *Confirmation `json:"next,omitempty"`
}

// asks reports whether a confirmation is about the same actions.
func (c *Confirmation) asks(actions []tools.Action) bool {
	return c != nil && slices.EqualFunc(c.Actions, actions, func(a, b tools.Action) bool {
		return a.Tool == b.Tool && string(a.Arguments) == string(b.Arguments)
	})
}

// A form is a question about a plan. A page builds it from Schema, the JSON Schema of the answer.
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

// An Open is an open question to the user.
type Open struct {
	ID, Message string
	// Late says that the question is about a call of a running plan. The terminal accepts no other request until it
	// is answered.
	Late bool
	// Answer returns the input that resumes the conversation. Any text but a yes is a no.
	Answer func(text string) []state.Write
}

// Waiting returns the open question about a plan or about a call, or nil.
func Waiting(s *graph.Snapshot) *Open {
	if s == nil || len(s.Pauses) == 0 {
		return nil
	}
	if open, err := askLate.Open(s); err == nil && len(open) > 0 {
		return late(open[0].ID, open[0].Prompt)
	}
	c := PendingConfirmation.Get(s)
	if c == nil {
		return nil
	}
	if open, err := askPlan.Open(s); err == nil && len(open) > 0 {
		return &Open{ID: open[0].ID, Message: c.Message, Answer: func(text string) []state.Write {
			return []state.Write{askPlan.Answer(open[0].ID, text)}
		}}
	}
	return &Open{ID: c.ID, Message: c.Message, Answer: c.Answer}
}

// late returns the question about a call of a running plan.
func late(id string, q tools.Question) *Open {
	return &Open{ID: id, Message: q.Description + " Confirm? (yes/no)", Late: true, Answer: func(text string) []state.Write {
		decision := q.Reject("")
		if agreed(&Answer{Text: text}) {
			decision = q.Approve()
		}
		return []state.Write{askLate.Answer(id, decision)}
	}}
}

// An Answer is the user's answer to a Confirmation.
type Answer struct {
	To   string `json:"to"` // the id of the confirmation
	Text string `json:"text"`
	// Approved are the calls that the user approved, as questions. The node confirm_actions adds them to a yes.
	Approved []tools.Question `json:"approved,omitempty"`
	// Next is the earlier open question. The graph asks it again after this one.
	Next *Confirmation `json:"next,omitempty"`
}

// Ask returns the input of a turn: the user's message in a session.
func Ask(session, text string) []state.Write {
	return []state.Write{UserMessage.Put(text), History.Put(llm.User(text)), SessionID.Put(session)}
}

// Answer returns the input that resumes a conversation that is paused before confirm_actions. Any text but a yes is a
// no.
func (c *Confirmation) Answer(text string) []state.Write {
	return []state.Write{graph.Continue(), UserConfirmation.Put(&Answer{To: c.ID, Text: text})}
}
