package pgmemory_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// people is a backend that runs the suites under row-level security. A call in the scope of a user
// has the rights of this user; other calls have the rights of the service role. The database
// identifies users by ids, and the suites by names.
type people struct {
	tb testing.TB
	db *pgmemory.DB

	mu    sync.Mutex
	names map[string]string          // of users, by their ids
	bound map[[2]string]*pgmemory.DB // by user and tenant
}

func newPeople(tb testing.TB) *people {
	return &people{tb: tb, db: supabasePlace(tb).served(tb), names: map[string]string{"": ""}, bound: map[[2]string]*pgmemory.DB{}}
}

// in replaces the user name in a scope by the id.
func (p *people) in(s driver.Scope) driver.Scope {
	if s.User == "" {
		return s
	}
	sum := sha256.Sum256([]byte(s.User))
	id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names[id] = s.User
	s.User = id
	return s
}

// out replaces the user id in a scope by the name.
func (p *people) out(s driver.Scope) driver.Scope {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.User = p.names[s.User]
	return s
}

// as returns a memory with the rights of the user and the tenant of a scope. The scope's User is
// the id of a user.
func (p *people) as(s driver.Scope) *pgmemory.DB {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := [2]string{s.User, s.Tenant}
	if p.bound[key] == nil {
		bound, err := pgmemory.Bind(p.db, bindingIn(s.User, s.Tenant))
		assert.NoError(p.tb, err)
		p.bound[key] = bound
	}
	return p.bound[key]
}

type theirConversations struct {
	*people
	driver.ConversationStore // nil, since users may not dump or restore
}

func (p theirConversations) query(q driver.SessionQuery) (driver.SessionQuery, driver.ConversationStore) {
	if q.Scope = p.in(q.Scope); q.After != nil {
		after := *q.After
		after.Scope = p.in(after.Scope)
		q.After = &after
	}
	if q.AnyUser {
		return q, p.as(driver.Scope{}).Conversations()
	}
	return q, p.as(q.Scope).Conversations()
}

func (p theirConversations) Apply(ctx context.Context, s driver.Scope, c driver.SessionChange) (driver.Session, error) {
	s = p.in(s)
	session, err := p.as(s).Conversations().Apply(ctx, s, c)
	session.Scope = p.out(session.Scope)
	return session, err
}

func (p theirConversations) Sessions(ctx context.Context, q driver.SessionQuery) iter.Seq2[driver.Session, error] {
	return func(yield func(driver.Session, error) bool) {
		q, store := p.query(q)
		for session, err := range store.Sessions(ctx, q) {
			session.Scope = p.out(session.Scope)
			if !yield(session, err) {
				return
			}
		}
	}
}

func (p theirConversations) Messages(ctx context.Context, r driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	return func(yield func(driver.MessageRow, error) bool) {
		r.Scope = p.in(r.Scope)
		for row, err := range p.as(r.Scope).Conversations().Messages(ctx, r) {
			row.Scope = p.out(row.Scope)
			if !yield(row, err) {
				return
			}
		}
	}
}

func (p theirConversations) Search(ctx context.Context, s driver.MessageSearch) (driver.MessageCandidates, error) {
	q, store := p.query(s.Query)
	s.Query = q
	c, err := store.Search(ctx, s)
	for i := range c.Rows {
		c.Rows[i].Scope = p.out(c.Rows[i].Scope)
	}
	return c, err
}

func (p theirConversations) Forget(ctx context.Context, s driver.Scope) (int, error) {
	s = p.in(s)
	return p.as(s).Conversations().Forget(ctx, s)
}

func (p theirConversations) Sweep(ctx context.Context, s driver.Scope, age time.Duration, limit int) (int, error) {
	s = p.in(s)
	return p.as(s).Conversations().Sweep(ctx, s, age, limit)
}

type theirValues struct {
	*people
	driver.ValueStore // nil, since users may not dump or restore
}

func (p theirValues) Apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) ([]driver.Item, error) {
	s = p.in(s)
	for _, w := range writes {
		if slices.Equal(w.Namespace, []string{"weft.profile"}) && bytes.Contains(w.Value, []byte(`"plan"`)) {
			return p.as(driver.Scope{}).Values().Apply(ctx, s, writes) // only the service may store a plan
		}
	}
	return p.as(s).Values().Apply(ctx, s, writes)
}

func (p theirValues) Find(ctx context.Context, s driver.Scope, q driver.ValueSelection) iter.Seq2[driver.Item, error] {
	s = p.in(s)
	return p.as(s).Values().Find(ctx, s, q)
}

func (p theirValues) Search(ctx context.Context, s driver.Scope, q driver.ValueSearch) (driver.ValueCandidates, error) {
	s = p.in(s)
	return p.as(s).Values().Search(ctx, s, q)
}

func (p theirValues) Namespaces(ctx context.Context, s driver.Scope, q driver.NamespaceQuery) iter.Seq2[[]string, error] {
	s = p.in(s)
	return p.as(s).Values().Namespaces(ctx, s, q)
}

func (p theirValues) Forget(ctx context.Context, s driver.Scope) (int, error) {
	s = p.in(s)
	return p.as(s).Values().Forget(ctx, s)
}

func (p theirValues) Sweep(ctx context.Context, limit int) (int, error) {
	return p.as(driver.Scope{}).Values().Sweep(ctx, limit)
}

func (p theirValues) Index(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) (int, error) {
	return p.as(driver.Scope{}).Values().Index(ctx, p.in(s), writes)
}

func (theirValues) Scopes(context.Context) iter.Seq2[driver.Scope, error] {
	return func(yield func(driver.Scope, error) bool) { yield(driver.Scope{}, driver.ErrDenied) }
}
