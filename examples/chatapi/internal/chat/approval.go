package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// question returns the open question of a session to its user, or an empty text. It lists the facts of all
// open calls of forget_memory, because one answer decides all of them.
func question(snap *graph.Snapshot) string {
	open, err := agent.Approval.Open(snap)
	if err != nil || len(open) == 0 {
		return ""
	}
	text, more := "This will forget, for ever:", 0
	for _, one := range open {
		var about preview
		if err := json.Unmarshal(one.Prompt.Preview, &about); err != nil {
			text += "\n" + one.Prompt.Text()
		}
		for _, fact := range about.Facts {
			text += "\n- " + tools.VisibleLine(fact)
		}
		more += about.More
	}
	if more > 0 {
		text += fmt.Sprintf("\nand %d more facts.", more)
	}
	return text + "\nAnswer \"yes\" to forget it. Any other message keeps it."
}

// yes matches an answer that approves.
var yes = regexp.MustCompile(`(?i)^\s*(?:yes|y|ok)(?:,? please)?[\s.!]*$`)

// answer answers the open question of a session: a yes approves all open calls, and any other message
// rejects them. answered is false if there was no question, or if the message is neither a yes nor a no;
// Say then runs the message as a new one.
func (s *Service) answer(ctx context.Context, thread *graph.Thread, text string) (snap *graph.Snapshot, answered bool, err error) {
	if snap, err = thread.Snapshot(ctx); err != nil || len(snap.Pauses) == 0 {
		return nil, false, nil //nolint:nilerr // a session without a state has no question; if the store fails, the run fails too
	}
	open, err := agent.Approval.Open(snap)
	if err != nil || len(open) == 0 {
		return nil, false, err
	}
	agreed := yes.MatchString(text)
	var writes []state.Write
	for _, one := range open {
		decision := one.Prompt.Reject("The user does not want this.")
		if agreed {
			decision = one.Prompt.Approve()
		}
		writes = append(writes, agent.Approval.Answer(one.ID, decision))
	}
	snap, err = thread.Invoke(ctx, writes...)
	return snap, agreed || no.MatchString(text), err
}

// no matches an answer that declines and says nothing else.
var no = regexp.MustCompile(`(?i)^\s*(?:no|n)(?:,? thanks?)?[\s.!]*$`)
