package chat

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// load adds the stored messages that the state lacks, such as messages of other programs. It puts the
// system prompt before a conversation that is not stored yet, and removes system messages of clients.
func (s *Service) load(ctx context.Context, v state.View) (state.Update, error) {
	have := agent.Messages.Get(v)
	if len(have) == 0 {
		return nil, errors.New("the input has no messages")
	}
	stored, err := s.conversation(ctx, have)
	if err != nil {
		return nil, err
	}
	said, removed := trusted(have, stored)
	if removed > 0 {
		s.log.WarnContext(ctx, "system messages of a client are removed: only this program writes such messages", "count", removed)
	}
	all, n := merged(said, stored)
	if len(stored) == 0 {
		all = append([]llm.Message{first}, said...)
	}
	return state.Update{began.Put(time.Now().UTC()), known.Put(n), agent.Messages.Overwrite(all)}, nil
}

// first is the message with the prompt.
var first = llm.Message{ID: "system", Role: llm.RoleSystem, Parts: []llm.Part{llm.Text(prompt)}}

// trusted returns the messages without the system messages of clients, and the number of removed messages.
// A stored system message replaces the message with its id. A prompt that is not stored may come from an
// older version of this program, so the current prompt replaces it.
func trusted(have, stored []llm.Message) (out []llm.Message, removed int) {
	for _, m := range have {
		i := slices.IndexFunc(stored, func(other llm.Message) bool { return other.ID == m.ID })
		switch {
		case i >= 0 && (m.Role == llm.RoleSystem || stored[i].Role == llm.RoleSystem):
			out = append(out, stored[i])
		case m.Role != llm.RoleSystem:
			out = append(out, m)
		case m.ID != first.ID:
			removed++
		case len(stored) > 0: // else load puts it before all messages
			out = append(out, first)
		}
	}
	return out, removed
}
