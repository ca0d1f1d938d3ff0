package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
)

// FindMessages asks for messages of any time.
type FindMessages struct {
	// Query says in which sessions to look, and how many messages to return at most.
	// Its After has to be nil.
	Query SessionQuery
	// Text is what is looked for, in any words. A message does not need to have all of
	// them. [Recall] says what counts of a long text.
	Text string
	// Roles keeps the messages that have one of them. None stands for what the user and the assistant
	// said.
	Roles []llm.Role
	// Since and Before, if not zero, keep what was stored from a time on, and up to a time.
	Since, Before time.Time
}

// A FoundMessage is a message and the session that has it.
type FoundMessage struct {
	Message
	Scope   Scope
	Session string
}

const maxFoundMessages = 1000

func (f *FindMessages) check() error {
	if err := f.Query.Validate(); err != nil {
		return err
	}
	if f.Query.After != nil || f.Query.Limit > maxFoundMessages {
		return fmt.Errorf("a search has no After, and finds %d at most: %w", maxFoundMessages, ErrInvalid)
	}
	for _, r := range f.Roles {
		switch r {
		case llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
		default:
			return fmt.Errorf("role %.40q: %w", r, ErrInvalid)
		}
	}
	return nil
}

// ranked returns the candidates, the best first, and their scores.
func ranked(terms []string, c driver.MessageCandidates) ([]driver.MessageRow, []Score) {
	corpus := rank.Corpus{Docs: c.Messages, Terms: c.Terms, Frequency: map[string]int64{}}
	for i, n := range c.Frequency {
		corpus.Frequency[terms[i]] = n
	}
	group := func(r *driver.MessageRow) string {
		return fmt.Sprintf("%q", []string{r.Scope.Tenant, r.Scope.Workspace, r.Scope.User, r.Scope.Agent, r.Session})
	}
	slices.SortFunc(c.Rows, func(a, b driver.MessageRow) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Position, a.Position), strings.Compare(group(&a), group(&b)))
	})
	docs := make([]rank.Doc, len(c.Rows))
	for i, r := range c.Rows {
		docs[i] = rank.Doc{Terms: r.Terms, Group: group(&r), Position: r.Position}
	}
	scores := rank.Weights{}.Score(terms, nil, corpus, docs)
	order := rank.Order(scores)
	rows, shares := make([]driver.MessageRow, len(order)), make([]Score, len(order))
	for i, at := range order {
		rows[i] = c.Rows[at]
		shares[i] = Score{
			Rank: i + 1, BM25: scores[at].BM25, Total: scores[at].Total, Keyword: scores[at].Keyword, Neighbour: scores[at].Neighbour,
		}
	}
	return rows, shares
}
