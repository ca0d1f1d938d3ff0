package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The state beside the messages, for the time of a run. Who asks is not in it: that
// comes with the run's context, and no model sees it.
var (
	known = state.Last[int]("known")       // how many messages the conversation has, from before
	began = state.Last[time.Time]("began") // when the run was asked for
)

// docs:begin graph
// whole puts an agent between reading a conversation and saving it.
func (s *Service) whole(bot *graph.Graph, o graph.Options) (*graph.Graph, error) {
	b := graph.New("chat", agent.Messages, known, began)
	b.Node("load", s.load)
	b.Subgraph("agent", bot)
	b.Node("save", s.save)
	b.Node("learn", s.learn)
	b.Edge(graph.Start, "load")
	b.Edge("load", "agent")
	b.Edge("agent", "save")
	b.Edge("save", "learn")
	b.Edge("learn", graph.End)
	return b.Compile(o)
}

// docs:end

// place says whose conversation a run is, and which one.
func place(ctx context.Context) (memory.Scope, string) {
	scope, _ := tools.BoundFrom[memory.Scope](ctx)
	where, _ := graph.FromContext(ctx)
	return scope, where.Thread
}

// load makes the messages those of the conversation, as it is stored, and what was said since:
// the new message, and those of a run before that did not come to its end.
func (s *Service) load(ctx context.Context, v state.View) (state.Update, error) {
	scope, session := place(ctx)
	stored, err := s.history.Load(ctx, scope, session)
	if err != nil {
		return nil, err
	}
	want := memory.PlainMessages(stored)
	is := map[string]bool{}
	for _, m := range want {
		is[m.ID] = true
	}
	update := state.Update{known.Put(len(want))}
	have := agent.Messages.Get(v)
	for _, m := range memory.Answers(have) {
		if !is[m.ID] {
			want = append(want, m)
		}
	}
	return append(update, become(have, want)...), nil
}

// become writes what makes one list the other: in most cases a few removals, so that a
// conversation of n turns is not stored n times.
func become(have, want []llm.Message) state.Update {
	at := map[string]int{}
	for i, m := range want {
		at[m.ID] = i
	}
	var gone []string
	var put []llm.Message
	kept := 0
	for _, m := range have {
		i, ok := at[m.ID]
		switch {
		case !ok:
			gone = append(gone, m.ID)
			continue
		case i != kept: // the order is another
			return state.Update{agent.Messages.Overwrite(want)}
		case len(m.ToolCalls) > 0: // its answers are gone
			put = append(put, want[i])
		}
		kept++
	}
	return state.Update{agent.Messages.Remove(gone...), agent.Messages.Put(append(put, want[kept:]...)...)}
}

// save stores what is new, without tool calls and their results. What is stored already is not
// stored again, and a session that was deleted meanwhile does not come back.
func (s *Service) save(ctx context.Context, v state.View) (state.Update, error) {
	scope, session := place(ctx)
	said := fresh(v)
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

// learn leaves the turn to the learner, which finds facts in it later. A queue that does not
// answer fails no turn.
func (s *Service) learn(ctx context.Context, v state.View) (state.Update, error) {
	if s.learner == nil {
		return nil, nil
	}
	scope, session := place(ctx)
	said := fresh(v)
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

// fresh are the messages that the conversation does not have.
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

// title is how the first message begins.
func title(messages []llm.Message) string {
	runes := []rune(strings.Join(strings.Fields(userText(messages)), " "))
	if len(runes) > maxTitle {
		runes = append(slices.Clip(runes[:maxTitle-1]), '…')
	}
	return string(runes)
}
