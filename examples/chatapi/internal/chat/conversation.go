package chat

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
)

// conversation returns the stored messages of the session. An edit of a message abandons the messages
// after it, so the state lacks them. conversation removes them from the store if this program stored them.
// It never removes a system message.
func (s *Service) conversation(ctx context.Context, have []llm.Message) ([]llm.Message, error) {
	scope, session := place(ctx)
	stored, err := s.history.Load(ctx, scope, session)
	if err != nil {
		return nil, err
	}
	left := map[string]bool{}
	for _, m := range stored {
		left[m.ID] = m.Metadata[ours] != nil && m.Role != llm.RoleSystem && ctx.Value(straight{}) == nil
	}
	for _, m := range have {
		delete(left, m.ID)
	}
	messages := memory.PlainMessages(stored)
	kept := slices.DeleteFunc(slices.Clone(messages), func(m llm.Message) bool { return left[m.ID] })
	if len(kept) == len(messages) {
		return kept, nil
	}
	data, err := s.history.ToLangChain(ctx, scope, session)
	if err == nil {
		data, err = without(data, left)
	}
	if err == nil {
		_, err = s.history.FromLangChain(ctx, scope, session, data)
	}
	return kept, err
}

// straight is the key of a context value that Say sets for its runs, which continue the newest checkpoint.
// Such a run removes no stored messages: if the state is lost, they stay.
type straight struct{}

// ours is the metadata key that marks the messages that this program stored.
const ours = "chatapi"

// marked returns copies of messages with the metadata key ours.
func marked(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, len(messages))
	for i, m := range messages {
		out[i] = m.Clone()
		out[i].Metadata = map[string]json.RawMessage{ours: json.RawMessage("true")}
		maps.Copy(out[i].Metadata, m.Metadata)
	}
	return out
}

// without returns a JSON list of stored messages without the messages that have one of the ids.
func without(data json.RawMessage, ids map[string]bool) (json.RawMessage, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	return json.Marshal(slices.DeleteFunc(all, func(m json.RawMessage) bool {
		var read struct{ Data struct{ ID string } }
		return json.Unmarshal(m, &read) == nil && ids[read.Data.ID]
	}))
}

// merged returns the messages of the state and the stored messages in one list. The first n messages are
// stored, or are tool calls and tool results before a stored answer.
func merged(have, stored []llm.Message) (all []llm.Message, n int) {
	at := map[string]int{}
	for i, m := range have {
		at[m.ID] = i
	}
	next := 0
	for _, m := range stored {
		i, ok := at[m.ID]
		switch {
		case !ok:
			all = append(all, m)
		case i >= next: // with the tool calls and results before it
			all = append(all, have[next:i+1]...)
			next = i + 1
		}
	}
	return append(all, have[next:]...), len(all)
}

// answersOnly removes the tool calls and tool results of earlier turns from a request.
var answersOnly = agent.Middleware{Name: "answers", WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
	all := c.Request.Messages
	for i, m := range slices.Backward(all) {
		if m.Role == llm.RoleUser {
			c.Request.Messages = append(memory.Answers(all[:i]), all[i:]...)
			break
		}
	}
	return next(ctx, c)
}}
