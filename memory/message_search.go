package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

// A FoundMessage is a message with its scope and its session.
type FoundMessage struct {
	Message
	Scope   Scope
	Session string
}

// Search returns the messages that fit the text of a question best, the best first. A message ranks higher if it
// has more and rarer words of the text, and if adjacent messages fit too. At most one filter may be given.
// Messages have no vectors: an Embedding or a MinSimilarity is [ErrInvalid]. A text without words finds nothing.
func (h *Conversations) Search(ctx context.Context, q Question, only ...MessageFilter) ([]Hit[FoundMessage], error) {
	found, err := h.search(ctx, q, only)
	if err != nil {
		return nil, fmt.Errorf("conversations: search: %w", err)
	}
	return found, nil
}

func (h *Conversations) search(ctx context.Context, q Question, only []MessageFilter) ([]Hit[FoundMessage], error) {
	filter, err := search.One(only)
	if err != nil {
		return nil, err
	}
	if err := filter.check(); err != nil {
		return nil, err
	}
	asked := search.Question(q)
	if err := asked.Check(nil); err != nil {
		return nil, err
	}
	query := filter.query(Question(asked))
	if err := query.Validate(); err != nil {
		return nil, err
	}
	wanted, err := asked.Wanted(ctx, nil)
	if err != nil || wanted.Nothing() {
		return nil, err
	}
	s := driver.MessageSearch{
		Query: query, Roles: filter.Roles, Since: input.Exact(filter.Since), Before: input.Exact(filter.Before), Terms: wanted.Terms,
		Limit: asked.Candidates(rank.Candidates),
	}
	if len(s.Roles) == 0 {
		s.Roles = []llm.Role{llm.RoleUser, llm.RoleAssistant}
	}
	c, err := h.store.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	return h.hits(ctx, &asked, h.score(&s, &c), c.Rows)
}

func (f *MessageFilter) check() error {
	for _, r := range f.Roles {
		switch r {
		case llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
		default:
			return fmt.Errorf("role %.40q: %w", r, ErrInvalid)
		}
	}
	return nil
}

// score returns the candidates with their scores. Of messages with equal scores, the newer is first.
func (h *Conversations) score(s *driver.MessageSearch, c *driver.MessageCandidates) *search.Candidates {
	slices.SortFunc(c.Rows, func(a, b driver.MessageRow) int {
		return cmp.Or(
			b.At.Compare(a.At), cmp.Compare(b.Position, a.Position),
			strings.Compare(groupOf(a.Scope, a.Session), groupOf(b.Scope, b.Session)),
		)
	})
	docs := make([]rank.Doc, len(c.Rows))
	for i, r := range c.Rows {
		docs[i] = rank.Doc{Terms: r.Terms, Group: groupOf(r.Scope, r.Session), Position: r.Position}
	}
	corpus := rank.NewCorpus(c.Messages, c.Terms, s.Terms, c.Frequency)
	return &search.Candidates{Docs: docs, Scores: rank.Weights{}.Score(s.Terms, nil, corpus, docs), Reranker: h.options.Reranker}
}

// hits chooses the hits among candidates. It leaves out messages of other programs that are not an [llm.Message], as
// [messagesOf] does.
func (h *Conversations) hits(ctx context.Context, q *search.Question, c *search.Candidates, rows []driver.MessageRow) ([]Hit[FoundMessage], error) {
	c.Text = func(i int) string { return rows[i].Text }
	c.Tokens = func(i int) int { return h.options.Tokens.CountTokens(llm.User(rows[i].Text)) }
	chosen, _, err := q.Choose(ctx, c)
	if err != nil {
		return nil, err
	}
	found := make([]Hit[FoundMessage], 0, len(chosen))
	for _, i := range chosen {
		r := &rows[i]
		messages, err := messagesOf([]driver.MessageRow{*r})
		if err != nil {
			return nil, fmt.Errorf("message %d of session %.60q in the scope %s: %w", r.Position, r.Session, r.Scope, err)
		}
		for _, m := range messages {
			found = append(found, Hit[FoundMessage]{Item: FoundMessage{m, r.Scope, r.Session}, Score: Score(c.Scores[i].Signals)})
		}
	}
	return found, nil
}
