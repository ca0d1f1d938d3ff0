package drivertest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

// Each of these stores breaks one promise, and the named case must fail.
var brokenTalks = []struct {
	name, found string
	store       brokenTalk
}{
	{"ids are not looked at", "append/again", changed(func(c *driver.SessionChange) {
		for i := range c.Rows {
			c.Rows[i].ID += time.Now().String()
		}
	})},
	{"a turn is stored twice", "append/same_turn", changed(func(c *driver.SessionChange) {
		for i := range c.Rows {
			c.Rows[i].ID += time.Now().String()
		}
	})},
	{"nothing is once", "append/once", changed(func(c *driver.SessionChange) { c.Once = false })},
	{"everything is once", "append/once", changed(func(c *driver.SessionChange) { c.Once = true })},
	{"turns are torn", "append/writers", brokenTalk{torn: true}},
	{"versions are not checked", "version/checked", changed(func(c *driver.SessionChange) { c.Version = 0 })},
	{"versions are not checked", "version/race", changed(func(c *driver.SessionChange) { c.Version = 0 })},
	{"nothing is cut", "change/from", changed(func(c *driver.SessionChange) { c.From = 0 })},
	{"no title", "change/describe", changed(func(c *driver.SessionChange) {
		if c.Describe != nil {
			c.Describe = &driver.SessionDescription{Metadata: c.Describe.Metadata}
		}
	})},
	{"no metadata", "sessions/where", changed(func(c *driver.SessionChange) {
		if c.Describe != nil {
			c.Describe = &driver.SessionDescription{Title: c.Describe.Title}
		}
	})},
	{"what was deleted comes back", "change/late", changed(func(c *driver.SessionChange) { c.Said = time.Time{} })},
	{"what was forgotten comes back", "forget/late", changed(func(c *driver.SessionChange) { c.Said = time.Time{} })},
	{"one role", "search/filters", changed(func(c *driver.SessionChange) {
		for i := range c.Rows {
			c.Rows[i].Role = llm.RoleUser
		}
	})},
	{"no terms", "search/any", changed(func(c *driver.SessionChange) {
		for i := range c.Rows {
			c.Rows[i].Terms = nil
		}
	})},
	{"the entry of LangChain is written anew", "append/row", changed(func(c *driver.SessionChange) {
		for i := range c.Rows {
			c.Rows[i].Data = said(c.Rows[i].Role, c.Rows[i].Text).Data
		}
	})},
	{"users see each other", "sessions/scopes", asking(func(q *driver.SessionQuery) { q.AnyUser = true })},
	{"users see each other", "change/scopes", asking(func(q *driver.SessionQuery) { q.AnyUser = true })},
	{"agents are left out", "sessions/scopes", asking(func(q *driver.SessionQuery) { q.AnyAgent = false })},
	{"no limit", "sessions/order", asking(func(q *driver.SessionQuery) { q.Limit = -1 })},
	{"a limit that nobody set", "sessions/order", asking(func(q *driver.SessionQuery) { q.Limit = cmp.Or(q.Limit, 20) })},
	{"no prefix", "change/names", asking(func(q *driver.SessionQuery) { q.Prefix = "" })},
	{"no pages", "sessions/pages", asking(func(q *driver.SessionQuery) { q.After = nil })},
	{"pages by whole seconds", "sessions/pages", asking(func(q *driver.SessionQuery) {
		if q.After != nil {
			after := *q.After
			after.UpdatedAt = after.UpdatedAt.Truncate(time.Second)
			q.After = &after
		}
	})},
	{"conditions are left out", "sessions/where", asking(func(q *driver.SessionQuery) { q.Where = nil })},
	{"ranges are left out", "messages/range", brokenTalk{messages: func(r *driver.MessageRange) { r.From, r.To = 0, 0 }}},
	{"all and not the last", "messages/range", brokenTalk{messages: func(r *driver.MessageRange) { r.Last = 0 }}},
	{"times are left out", "search/filters", brokenTalk{search: func(s *driver.MessageSearch) { s.Since, s.Before = time.Time{}, time.Time{} }}},
	{"all the words", "search/any", brokenTalk{found: func(c *driver.MessageCandidates) { c.Rows = c.Rows[:min(1, len(c.Rows))] }}},
	{"statistics of a sample", "search/any", brokenTalk{found: func(c *driver.MessageCandidates) { c.Messages++ }}},
	{"not the rarest", "search/limit", brokenTalk{found: func(c *driver.MessageCandidates) { c.Rows[0], c.Rows[1] = c.Rows[9], c.Rows[8] }}},
	{"forgets one agent", "forget/scope", brokenTalk{forget: func(s *driver.Scope) { s.Agent = "a" }}},
	{"forgets all users", "forget/scope", brokenTalk{forget: func(s *driver.Scope) { s.User = "" }}},
	{"the context is ignored", "messages/cancelled", brokenTalk{noContext: true}},
	{"hands out what it keeps", "messages/own", brokenTalk{aliases: true}},
}

func changed(change func(*driver.SessionChange)) brokenTalk { return brokenTalk{change: change} }

func asking(query func(*driver.SessionQuery)) brokenTalk { return brokenTalk{query: query} }

func TestSuiteFindsBrokenConversations(t *testing.T) {
	t.Parallel()
	cases := allConversationCases()
	for _, b := range brokenTalks {
		t.Run(b.name+"/"+b.found, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(cases, func(c conversationCase) bool { return c.name == b.found })
			require.GreaterOrEqual(t, i, 0, "no case %s", b.found)
			found := recorded(func(tb testing.TB) {
				cases[i].check(tb, func(testing.TB) driver.ConversationStore {
					store := b.store
					store.Conversations = inmemory.NewConversations(inmemory.Options{})
					return &store
				})
			})
			assert.True(t, found, "%s does not see it", b.found)
		})
	}
}

// recorded reports whether a test fails.
func recorded(test func(tb testing.TB)) bool {
	return len(suitetest.Record(test)) > 0
}

// A brokenTalk is a correct store, except for the faults that its fields set.
type brokenTalk struct {
	*inmemory.Conversations
	change    func(*driver.SessionChange)
	query     func(*driver.SessionQuery)
	messages  func(*driver.MessageRange)
	search    func(*driver.MessageSearch)
	found     func(*driver.MessageCandidates)
	forget    func(*driver.Scope)
	torn      bool
	noContext bool
	aliases   bool
	given     []byte
}

func (b *brokenTalk) Apply(ctx context.Context, s driver.Scope, c driver.SessionChange) (driver.Session, error) {
	if b.noContext {
		ctx = context.Background()
	}
	if b.aliases && len(c.Rows) > 0 {
		b.given = c.Rows[0].Data
	}
	if b.change != nil {
		c.Rows = slices.Clone(c.Rows)
		b.change(&c)
	}
	if b.torn && len(c.Rows) > 1 {
		for _, row := range c.Rows[1:] {
			if _, err := b.Conversations.Apply(ctx, s, driver.SessionChange{Session: c.Session, Rows: []driver.MessageRow{row}}); err != nil {
				return driver.Session{}, err
			}
		}
		c.Rows = c.Rows[:1]
	}
	return b.Conversations.Apply(ctx, s, c)
}

func (b *brokenTalk) Sessions(ctx context.Context, q driver.SessionQuery) iter.Seq2[driver.Session, error] {
	if b.query != nil {
		b.query(&q)
	}
	return b.Conversations.Sessions(ctx, q)
}

func (b *brokenTalk) Messages(ctx context.Context, r driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	if b.messages != nil {
		b.messages(&r)
	}
	return func(yield func(driver.MessageRow, error) bool) {
		for row, err := range b.Conversations.Messages(ctx, r) {
			if b.aliases {
				row.Data = b.given
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (b *brokenTalk) Search(ctx context.Context, s driver.MessageSearch) (driver.MessageCandidates, error) {
	if b.query != nil {
		b.query(&s.Query)
	}
	if b.search != nil {
		b.search(&s)
	}
	c, err := b.Conversations.Search(ctx, s)
	if err == nil && b.found != nil {
		b.found(&c)
	}
	return c, err
}

func (b *brokenTalk) Forget(ctx context.Context, s driver.Scope) (int, error) {
	if b.forget != nil {
		b.forget(&s)
	}
	return b.Conversations.Forget(ctx, s)
}
