package middleware

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A History configures [Shorten]. The zero value uses the defaults of [llm.Prune]. The stored
// conversation stays complete unless Stored is set.
type History struct {
	// Pruning is the token budget.
	Pruning llm.Pruning
	// Summarise, if not nil, summarises the dropped messages as [llm.Summarise] does: it keeps the last
	// Pruning.MinMessages messages. See [llm.SummariseWith]. The summary is stored in the thread, and Summarise is
	// called again only when the conversation exceeds the budget again. If the agent is a node of
	// another graph, the next run has the summary only with [graph.SubgraphOptions].Persist, or Stored.
	// With Summarise, Pruning.FromUser has no effect, since a summary is a user message.
	Summarise llm.Summariser
	// Stored also removes the dropped messages from the stored conversation and
	// stores the summary in their place. No other node of the graph may then write
	// the conversation in the same superstep.
	Stored bool
}

// A summary replaces the first part of a conversation.
type summary struct {
	// Through is the id of the last message that the summary replaces.
	Through string      `json:"through"`
	Message llm.Message `json:"message"`
}

// Shorten returns a middleware that shortens a long conversation for the model. If an agent has
// several with Summarise, they share one summary, and the smallest budget applies.
func Shorten(h History) agent.Middleware {
	m := agent.Middleware{Name: "shorten", WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		kept, update, err := h.shorten(ctx, c)
		if err != nil {
			return agent.Reply{}, err
		}
		c.Request.Messages = kept
		reply, err := next(ctx, c)
		reply.Update = append(update, reply.Update...)
		return reply, err
	}}
	if h.Summarise != nil {
		m.Channels = []state.Handle{summaries}
	}
	return m
}

// summaries has the summary of the conversation of each agent, by the name of the agent.
var summaries = state.Map[string, summary]("agent_summaries").Internal()

// shorten returns the messages for the model and the writes that store a new summary
// or the shortened conversation.
func (h History) shorten(ctx context.Context, c agent.ModelCall) ([]llm.Message, state.Update, error) {
	whole := c.Request.Messages
	if h.Summarise == nil {
		kept := llm.Prune(whole, h.Pruning)
		return kept, h.removeDropped(c, kept), nil
	}
	p := h.Pruning
	p.FromUser = false
	known := summaries.Get(c.State)[c.Agent]
	short := known.replace(whole)
	kept, err := llm.Summarise(ctx, short, p, h.Summarise)
	if err != nil {
		return nil, nil, err
	}
	if len(kept) == len(short) && slices.EqualFunc(kept, short, sameMessage) {
		return kept, nil, nil
	}
	if h.Stored {
		return kept, state.Update{c.Messages.Overwrite(kept)}, nil
	}
	if now, ok := known.next(short, kept); ok {
		return kept, state.Update{summaries.Put(map[string]summary{c.Agent: now})}, nil
	}
	return kept, nil, nil
}

func sameMessage(a, b llm.Message) bool { return a.ID == b.ID }

// removeDropped returns the write that removes the dropped messages, if
// History.Stored is set.
func (h History) removeDropped(c agent.ModelCall, kept []llm.Message) state.Update {
	if !h.Stored || len(kept) == len(c.Request.Messages) {
		return nil
	}
	isKept := map[string]bool{}
	for _, m := range kept {
		isKept[m.ID] = true
	}
	var dropped []string
	for _, m := range c.Request.Messages {
		if !isKept[m.ID] {
			dropped = append(dropped, m.ID)
		}
	}
	return state.Update{c.Messages.Remove(dropped...)}
}

// replace replaces the summarised messages with the summary. It keeps system messages.
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

// summaryID is the message id of a summary in a request.
const summaryID = "summary"

// next returns the new summary of a shortened conversation, with the id of the last
// message that it replaces. It reports false if there is no new summary.
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
	if before[through].ID != summaryID { // else it replaces only the previous summary
		u.Through = before[through].ID
	}
	return u, true
}

func isSummary(m llm.Message) bool {
	var is bool
	return json.Unmarshal(m.Metadata["summary"], &is) == nil && is
}
