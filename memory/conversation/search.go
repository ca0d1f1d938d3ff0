package conversation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// A Find asks for messages of any time.
type Find struct {
	// Query says in which sessions to look, and how many messages to return at most.
	// Its After has to be nil.
	Query Query
	// Text is what is looked for, in any words. A message does not need to have all of
	// them. What counts of a long one is said at [memory.Recall].
	Text string
	// Roles keeps the messages that have one of them. None stands for what the user and the assistant
	// said.
	Roles []llm.Role
	// Since and Before, if not zero, keep what was stored from a time on, and up to a time.
	Since, Before time.Time
}

// A Found is a message that was found, and where.
type Found struct {
	Message
	Scope   memory.Scope
	Session string
	// Score says how well it fits, between 0 and 1: Keyword is its own share, Neighbour
	// that of the messages beside it.
	Score memory.Score
}

const maxCandidates = 1000

// Search returns the messages that fit a text best, the best first: those that have the
// most, and the rarest, of its words, by themselves and beside others that do. A text without words finds nothing.
func (h *History) Search(ctx context.Context, f Find) ([]Found, error) {
	found, err := h.search(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("conversation: search: %w", err)
	}
	return found, nil
}

func (h *History) search(ctx context.Context, f Find) ([]Found, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	text := rank.Clip(f.Text)
	terms := rank.Query(text)
	if len(terms) == 0 {
		terms = rank.Stopped(text)
	}
	if len(terms) == 0 {
		return nil, nil
	}
	limit, limited := f.Query.Most()
	if !limited {
		limit = maxCandidates
	}
	s := Search{
		Query: f.Query, Roles: f.Roles, Since: input.Exact(f.Since), Before: input.Exact(f.Before), Terms: terms,
		Limit: max(rank.Candidates, limit),
	}
	if len(s.Roles) == 0 {
		s.Roles = []llm.Role{llm.RoleUser, llm.RoleAssistant}
	}
	c, err := h.store.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	rows, scores := ranked(terms, c)
	rows = rows[:min(limit, len(rows))]
	found := make([]Found, 0, len(rows))
	for i, r := range rows {
		one, err := messagesOf([]Row{r})
		if err != nil {
			return nil, fmt.Errorf("message %d of session %.60q in the scope %s: %w", r.Position, r.Session, r.Scope, err)
		}
		if len(one) == 0 { // of a foreign type
			continue
		}
		found = append(found, Found{Message: one[0], Scope: r.Scope, Session: r.Session, Score: scores[i]})
	}
	return found, nil
}

func (f *Find) check() error {
	if err := f.Query.Validate(); err != nil {
		return err
	}
	if f.Query.After != nil || f.Query.Limit > maxCandidates {
		return fmt.Errorf("a search has no After, and finds %d at most: %w", maxCandidates, memory.ErrInvalid)
	}
	for _, r := range f.Roles {
		switch r {
		case llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
		default:
			return fmt.Errorf("role %.40q: %w", r, memory.ErrInvalid)
		}
	}
	return nil
}

// ranked returns the candidates, the best first, and their scores.
func ranked(terms []string, c Candidates) ([]Row, []memory.Score) {
	corpus := rank.Corpus{Docs: c.Messages, Terms: c.Terms, Frequency: map[string]int64{}}
	for i, n := range c.Frequency {
		corpus.Frequency[terms[i]] = n
	}
	group := func(r *Row) string {
		return fmt.Sprintf("%q", []string{r.Scope.Tenant, r.Scope.Workspace, r.Scope.User, r.Scope.Agent, r.Session})
	}
	slices.SortFunc(c.Rows, func(a, b Row) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Position, a.Position), strings.Compare(group(&a), group(&b)))
	})
	docs := make([]rank.Doc, len(c.Rows))
	for i, r := range c.Rows {
		docs[i] = rank.Doc{Terms: r.Terms, Group: group(&r), Position: r.Position}
	}
	scores := rank.Weights{}.Score(terms, nil, corpus, docs)
	order := rank.Order(scores)
	rows, shares := make([]Row, len(order)), make([]memory.Score, len(order))
	for i, at := range order {
		rows[i] = c.Rows[at]
		shares[i] = memory.Score{
			Rank: i + 1, BM25: scores[at].BM25, Total: scores[at].Total, Keyword: scores[at].Keyword, Neighbour: scores[at].Neighbour,
		}
	}
	return rows, shares
}
