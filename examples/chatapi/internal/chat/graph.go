package chat

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The channels beside the messages. The user is not in the state: it comes with the context of a
// run, and no model sees it.
var (
	known = state.Last[int]("known")       // the number of messages from the beginning that are stored
	began = state.Last[time.Time]("began") // the time at which the run began
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

// scoped gives a run of the server the memory of its user. Other runs have a memory already.
func scoped(next graph.NodeFunc) graph.NodeFunc {
	return func(ctx context.Context, v state.View) (state.Update, error) {
		if _, ok := tools.BoundFrom[memory.Scope](ctx); !ok {
			ctx = agentmemory.For(ctx, Scope(ctx))
		}
		return next(ctx, v)
	}
}

// Scope returns the scope of the caller in a context of the server. Each caller has a workspace for
// itself and its users; the local caller has the scope without a name.
func Scope(ctx context.Context) (s memory.Scope) {
	if caller := server.UserID(ctx); caller != Local {
		s.Workspace = caller
	}
	return s
}

// Local is the id of the caller without a token.
const Local = "local"

// place returns the scope and the session of a run.
func place(ctx context.Context) (memory.Scope, string) {
	scope, _ := tools.BoundFrom[memory.Scope](ctx)
	where, _ := graph.FromContext(ctx)
	return scope, where.Thread
}

// load puts into the state what the stored conversation has and the state has not: the messages of
// other programs. A conversation that is not stored yet begins with the system prompt.
// System messages of clients are removed.
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

// trusted returns messages without the system messages of clients, and the number of those. A stored system message is
// as it is stored. The prompt is not stored if no turn was saved yet: an older version of this program may have written
// it, so the prompt of today takes its place.
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

// save stores what is new, without tool calls and their results. What is stored already is not
// stored again, and a session that was deleted meanwhile does not come back.
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

// learn leaves the turn to the learner, which finds facts in it later. A queue that does not
// answer fails no turn.
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

// title is how the first message begins.
func title(messages []llm.Message) string {
	runes := []rune(strings.Join(strings.Fields(userText(messages)), " "))
	if len(runes) > maxTitle {
		runes = append(slices.Clip(runes[:maxTitle-1]), '…')
	}
	return string(runes)
}
