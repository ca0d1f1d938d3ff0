package chat

import (
	"context"
	"slices"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/state"
)

// save stores the new messages, without tool calls and tool results, and sets the title of a session that
// has none. If the session was deleted after the run began, save fails and stores nothing.
func (s *Service) save(ctx context.Context, v state.View) (state.Update, error) {
	scope, session := place(ctx)
	said := marked(fresh(v))
	saved, err := s.history.Append(ctx, scope, memory.Turn{
		Session: session, Messages: said, Mode: memory.AnswersOnly, Began: began.Get(v),
	})
	if err != nil || saved.Title != "" {
		return nil, err
	}
	saved.Title, saved.Version = title(said), 0
	_, err = s.history.Update(ctx, scope, saved)
	return nil, err
}

// learn queues the turn for the learner, which finds facts in it later. An error of the queue does not
// fail the run.
func (s *Service) learn(ctx context.Context, v state.View) (state.Update, error) {
	if s.learner == nil {
		return nil, nil
	}
	scope, session := place(ctx)
	said := fresh(v)
	if forgets(said) {
		return nil, nil
	}
	last := said[len(said)-1]
	t := extract.Turn{
		Key: graph.IdempotencyKey(ctx), Scope: scope, Shared: true, Conversation: session, Number: int64(known.Get(v)),
		User: userText(said), Assistant: last.Text(), At: began.Get(v),
	}
	if err := s.learner.Learn(ctx, t); err != nil {
		s.log.WarnContext(ctx, "a turn will not be learned", "session", session, "error", err)
	}
	return nil, nil
}

// fresh returns the messages that are not stored.
func fresh(v state.View) []llm.Message { return agent.Messages.Get(v)[known.Get(v):] }

func userText(messages []llm.Message) string {
	var parts []string
	for _, m := range messages {
		if m.Role == llm.RoleUser {
			parts = append(parts, m.Text())
		}
	}
	return strings.Join(parts, "\n")
}

const maxTitle = 60

// title returns the beginning of the user's text, as the title of a session.
func title(messages []llm.Message) string {
	runes := []rune(strings.Join(strings.Fields(userText(messages)), " "))
	if len(runes) > maxTitle {
		runes = append(slices.Clip(runes[:maxTitle-1]), '…')
	}
	return string(runes)
}
