package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A History says how a long conversation is shortened for the model. Its zero
// value does what [llm.Prune] does by default. The stored conversation stays
// whole unless Stored is set.
type History struct {
	// Pruning is the budget.
	Pruning llm.Pruning
	// Summarise, when not nil, makes a summary of what is dropped; see
	// [llm.SummariseWith]. It is asked only when the conversation has outgrown
	// the budget again: the summary is kept in the thread. Pruning.FromUser has
	// no effect then, as a summary is a message of the user.
	Summarise llm.Summariser
	// Stored drops from the stored conversation what the model is not sent, and
	// puts the summary there in its place. No other node of the graph may write
	// the conversation in the same superstep.
	Stored bool
}

// A summary stands for the first part of a conversation.
type summary struct {
	// Through is the id of the last message that it stands for.
	Through string      `json:"through"`
	Message llm.Message `json:"message"`
}

// history returns the conversation as the model is to see it, and what has to be
// written for that.
func (a *agent) history(ctx context.Context, s state.View) ([]llm.Message, state.Update, error) {
	whole := a.messages.Get(s)
	h := a.options.History
	if h == nil {
		return repaired(whole), nil, nil
	}
	if h.Summarise == nil {
		kept := llm.Prune(whole, h.Pruning)
		return repaired(kept), a.forget(whole, kept), nil
	}
	p := h.Pruning
	p.FromUser = false
	known := a.summary.Get(s)
	short := known.replace(whole)
	kept, err := llm.Summarise(ctx, short, p, h.Summarise)
	if err != nil {
		return nil, nil, err
	}
	if len(kept) == len(short) && slices.EqualFunc(kept, short, sameMessage) {
		return repaired(kept), nil, nil
	}
	if h.Stored {
		return repaired(kept), state.Update{a.messages.Overwrite(kept)}, nil
	}
	if now, ok := known.next(short, kept); ok {
		return repaired(kept), state.Update{a.summary.Put(now)}, nil
	}
	return repaired(kept), nil, nil
}

func sameMessage(a, b llm.Message) bool { return a.ID == b.ID }

// forget removes what was dropped, where that is asked.
func (a *agent) forget(whole, kept []llm.Message) state.Update {
	if !a.options.History.Stored || len(kept) == len(whole) {
		return nil
	}
	have := map[string]bool{}
	for _, m := range kept {
		have[m.ID] = true
	}
	var gone []string
	for _, m := range whole {
		if !have[m.ID] {
			gone = append(gone, m.ID)
		}
	}
	return state.Update{a.messages.Remove(gone...)}
}

// replace puts the summary in place of what it stands for. System messages stay.
func (u summary) replace(whole []llm.Message) []llm.Message {
	at := slices.IndexFunc(whole, func(m llm.Message) bool { return m.ID == u.Through })
	if u.Through == "" || at < 0 {
		return whole
	}
	var out []llm.Message
	for _, m := range whole[:at+1] {
		if m.Role == llm.RoleSystem {
			out = append(out, m)
		}
	}
	return append(append(out, u.Message), whole[at+1:]...)
}

// summaryID is the id of a summary within a request.
const summaryID = "summary"

// next finds the new summary in a conversation that was shortened, and what it
// stands for.
func (u summary) next(before, after []llm.Message) (summary, bool) {
	at := slices.IndexFunc(after, func(m llm.Message) bool { return m.ID == "" && isSummary(m) })
	if at < 0 {
		return summary{}, false
	}
	u.Message = after[at]
	u.Message.ID = summaryID
	through := len(before) - 1
	if at+1 < len(after) {
		next := after[at+1].ID
		through = slices.IndexFunc(before, func(m llm.Message) bool { return m.ID == next }) - 1
	}
	if through < 0 {
		return summary{}, false
	}
	if before[through].ID != summaryID { // else it stands for no more than the one before
		u.Through = before[through].ID
	}
	return u, true
}

func isSummary(m llm.Message) bool {
	var is bool
	return json.Unmarshal(m.Metadata["summary"], &is) == nil && is
}
