package assistant

import (
	"cmp"
	"context"
	"regexp"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools/plan"
)

// confirm is the node confirm_actions. It takes the answer that the user gave while the run was paused, or asks with
// a form. It ignores an answer to another question.
func (a *assistant) confirm(ctx context.Context, s state.View) (state.Update, error) {
	said, pending := UserConfirmation.Get(s), PendingConfirmation.Get(s)
	if pending == nil {
		return state.Update{Actions.Overwrite(nil), UserConfirmation.Put(nil)}, nil
	}
	if said == nil || said.To != pending.ID {
		text, err := askPlan.WaitKey(ctx, pending.ID, pending.form())
		if err != nil {
			return nil, err
		}
		said = &Answer{To: pending.ID, Text: text}
	}
	if !agreed(said) {
		no := Answer{To: said.To, Text: said.Text, Next: pending.Next}
		return state.Update{PendingConfirmation.Put(nil), Actions.Overwrite(nil), UserConfirmation.Put(&no)}, nil
	}
	yes := Answer{To: said.To, Text: said.Text, Approved: pending.Questions, Next: pending.Next}
	return state.Update{PendingConfirmation.Put(nil), UserConfirmation.Put(&yes)}, nil
}

// byAnswer chooses the node after confirm_actions.
func byAnswer(s state.View) (string, error) {
	switch {
	case !agreed(UserConfirmation.Get(s)):
		return SynthesizeResponse, nil
	case plan.Ordered(Actions.Get(s)):
		return ExecuteSequential, nil
	}
	return ExecuteParallel, nil
}

// stillOpen returns the question that remains open after the current request, or nil.
func stillOpen(s state.View) *Confirmation {
	if said := UserConfirmation.Get(s); said != nil {
		return said.Next
	}
	return PendingConfirmation.Get(s)
}

// byOpen chooses confirm_actions if a question is open, and else the end of the graph.
func byOpen(s state.View) (string, error) {
	if PendingConfirmation.Get(s) != nil {
		return ConfirmActions, nil
	}
	return graph.End, nil
}

// reopening wraps a node that answers a request. If an earlier question is open, it restores the state of that
// question, so that confirm_actions asks it again.
func reopening(next graph.NodeFunc) graph.NodeFunc {
	return func(ctx context.Context, s state.View) (state.Update, error) {
		update, err := next(ctx, s)
		c := stillOpen(s)
		if err != nil || c == nil {
			return update, err
		}
		return append(update,
			UserMessage.Put(cmp.Or(c.Request, UserMessage.Get(s))), ToolInvocations.Overwrite(c.Invocations), Results.Overwrite(c.Results),
			Actions.Overwrite(c.Actions), RequiresConfirmation.Put(true), ExecutionMode.Put(Confirm),
			PendingConfirmation.Put(c), ConfirmationMessage.Put(c.Message), UserConfirmation.Put(nil),
			SessionContext.Put(map[string]string{planner: ""}),
		), nil
	}
}

// IsAnswer reports whether a text is a yes or a no to an open question. Any other text is a new request.
func IsAnswer(text string) bool { return agreed(&Answer{Text: text}) || declined(&Answer{Text: text}) }

// Words that may follow a yes or a no.
const (
	withYes = `(?:please|do it|do that|go ahead|thanks|thank you)`
	withNo  = `(?:please|thanks|thank you|(?:keep|leave) (?:it|that|them)|do not|do not do it|don'?t|don'?t do it|never mind|not now)`
)

var (
	yes = regexp.MustCompile(`(?i)^(?:yes|y)(?:[\s,.!]+` + withYes + `)*[\s.!]*$`)
	no  = regexp.MustCompile(`(?i)^(?:no|n|nope|never mind|(?:keep|leave) (?:it|that|them))(?:[\s,.!]+` + withNo + `)*[\s.!]*$`)
)

// agreed reports whether an answer is a yes.
func agreed(said *Answer) bool { return said != nil && yes.MatchString(strings.TrimSpace(said.Text)) }

// declined reports whether an answer is a plain no.
func declined(said *Answer) bool { return said != nil && no.MatchString(strings.TrimSpace(said.Text)) }
