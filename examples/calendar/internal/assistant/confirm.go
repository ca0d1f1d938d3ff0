package assistant

import (
	"context"
	"slices"
	"strings"

	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools/plan"
)

// confirm takes the answer that the user gave while the run was paused, or asks. An answer to another
// question is none.
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
		return state.Update{PendingConfirmation.Put(nil), Actions.Overwrite(nil), UserConfirmation.Put(said)}, nil
	}
	yes := Answer{To: said.To, Text: said.Text, Approved: pending.Questions}
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

// agreed reports whether an answer is a yes. Everything else is a no.
func agreed(said *Answer) bool { return said.is("yes", "y") }

// declined reports whether an answer is a plain no.
func declined(said *Answer) bool { return said.is("no", "n") }

func (a *Answer) is(words ...string) bool {
	return a != nil && slices.Contains(words, strings.ToLower(strings.Trim(a.Text, " \t\r\n.!")))
}
