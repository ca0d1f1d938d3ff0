package fair

import (
	"context"
	"iter"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/conversation"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/kv"
)

// Facts returns a store of facts behind the gate. It is a [memory.Sweeper] if the store is one;
// sweeping is nobody's in particular, and does not wait.
func (g *Gate) Facts(store memory.Store) memory.Store {
	gated := &facts{g, store}
	if sweeper, ok := store.(memory.Sweeper); ok {
		return struct {
			*facts
			memory.Sweeper
		}{gated, sweeper}
	}
	return gated
}

// call makes one call of a tenant.
func call[T any](ctx context.Context, g *Gate, tenant string, fn func() (T, error)) (T, error) {
	leave, err := g.Enter(ctx, tenant)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return fn()
}

type facts struct {
	gate  *Gate
	store memory.Store
}

func (f *facts) Apply(ctx context.Context, s memory.Scope, changes []memory.Change) ([]memory.Applied, error) {
	return call(ctx, f.gate, s.Tenant, func() ([]memory.Applied, error) { return f.store.Apply(ctx, s, changes) })
}

func (f *facts) Find(ctx context.Context, q memory.Query) iter.Seq2[memory.Record, error] {
	return rows(ctx, f.gate, q.Scope.Tenant, f.store.Find(ctx, q))
}

func (f *facts) Search(ctx context.Context, s memory.Search) (memory.Candidates, error) {
	return call(ctx, f.gate, s.Query.Scope.Tenant, func() (memory.Candidates, error) { return f.store.Search(ctx, s) })
}

func (f *facts) History(ctx context.Context, s memory.Scope, id string) iter.Seq2[memory.Event, error] {
	return rows(ctx, f.gate, s.Tenant, f.store.History(ctx, s, id))
}

func (f *facts) Forget(ctx context.Context, s memory.Scope) (int, error) {
	return call(ctx, f.gate, s.Tenant, func() (int, error) { return f.store.Forget(ctx, s) })
}

// Knowledge returns a store of documents behind the gate.
func (g *Gate) Knowledge(store knowledge.Store) knowledge.Store { return &documents{g, store} }

type documents struct {
	gate  *Gate
	store knowledge.Store
}

func (d *documents) Swap(ctx context.Context, c knowledge.Change) error {
	_, err := call(ctx, d.gate, c.Scope.Tenant, func() (struct{}, error) { return struct{}{}, d.store.Swap(ctx, c) })
	return err
}

func (d *documents) Sources(ctx context.Context, q knowledge.Query) iter.Seq2[knowledge.Source, error] {
	return rows(ctx, d.gate, q.Scope.Tenant, d.store.Sources(ctx, q))
}

// Chunks takes the tenant of the first span: all that one call asks for is one tenant's.
func (d *documents) Chunks(ctx context.Context, spans []knowledge.Span) iter.Seq2[knowledge.Chunk, error] {
	if len(spans) == 0 {
		return d.store.Chunks(ctx, spans)
	}
	return rows(ctx, d.gate, spans[0].Scope.Tenant, d.store.Chunks(ctx, spans))
}

func (d *documents) Search(ctx context.Context, s knowledge.Search) (knowledge.Candidates, error) {
	return call(ctx, d.gate, s.Query.Scope.Tenant, func() (knowledge.Candidates, error) { return d.store.Search(ctx, s) })
}

func (d *documents) Delete(ctx context.Context, q knowledge.Query) (int, error) {
	return call(ctx, d.gate, q.Scope.Tenant, func() (int, error) { return d.store.Delete(ctx, q) })
}

// Values returns a store of values, or profiles, behind the gate. It is a [kv.Sweeper] if the store is one;
// sweeping does not wait.
func (g *Gate) Values(store kv.Store) kv.Store {
	gated := &values{g, store}
	if sweeper, ok := store.(kv.Sweeper); ok {
		return struct {
			*values
			kv.Sweeper
		}{gated, sweeper}
	}
	return gated
}

type values struct {
	gate  *Gate
	store kv.Store
}

func (v *values) Apply(ctx context.Context, s memory.Scope, writes []kv.Write) ([]kv.Item, error) {
	return call(ctx, v.gate, s.Tenant, func() ([]kv.Item, error) { return v.store.Apply(ctx, s, writes) })
}

func (v *values) Find(ctx context.Context, s memory.Scope, q kv.Selection) iter.Seq2[kv.Item, error] {
	return rows(ctx, v.gate, s.Tenant, v.store.Find(ctx, s, q))
}

func (v *values) Search(ctx context.Context, s memory.Scope, q kv.Search) (kv.Candidates, error) {
	return call(ctx, v.gate, s.Tenant, func() (kv.Candidates, error) { return v.store.Search(ctx, s, q) })
}

func (v *values) Namespaces(ctx context.Context, s memory.Scope, q kv.NamespaceQuery) iter.Seq2[[]string, error] {
	return rows(ctx, v.gate, s.Tenant, v.store.Namespaces(ctx, s, q))
}

func (v *values) Forget(ctx context.Context, s memory.Scope) (int, error) {
	return call(ctx, v.gate, s.Tenant, func() (int, error) { return v.store.Forget(ctx, s) })
}

// Conversations returns a store of sessions behind the gate. It is a [conversation.Sweeper] if the store is
// one, and then sweeping, which names a scope, waits too.
func (g *Gate) Conversations(store conversation.Store) conversation.Store {
	gated := &sessions{g, store}
	if sweeper, ok := store.(conversation.Sweeper); ok {
		return &sweptSessions{gated, sweeper}
	}
	return gated
}

type sessions struct {
	gate  *Gate
	store conversation.Store
}

func (c *sessions) Apply(ctx context.Context, s memory.Scope, change conversation.Change) (conversation.Session, error) {
	return call(ctx, c.gate, s.Tenant, func() (conversation.Session, error) { return c.store.Apply(ctx, s, change) })
}

func (c *sessions) Sessions(ctx context.Context, q conversation.Query) iter.Seq2[conversation.Session, error] {
	return rows(ctx, c.gate, q.Scope.Tenant, c.store.Sessions(ctx, q))
}

func (c *sessions) Messages(ctx context.Context, r conversation.Range) iter.Seq2[conversation.Row, error] {
	return rows(ctx, c.gate, r.Scope.Tenant, c.store.Messages(ctx, r))
}

func (c *sessions) Search(ctx context.Context, s conversation.Search) (conversation.Candidates, error) {
	return call(ctx, c.gate, s.Query.Scope.Tenant, func() (conversation.Candidates, error) { return c.store.Search(ctx, s) })
}

func (c *sessions) Forget(ctx context.Context, s memory.Scope) (int, error) {
	return call(ctx, c.gate, s.Tenant, func() (int, error) { return c.store.Forget(ctx, s) })
}

type sweptSessions struct {
	*sessions
	sweeper conversation.Sweeper
}

func (c *sweptSessions) Sweep(ctx context.Context, s memory.Scope, age time.Duration, limit int) (int, error) {
	return call(ctx, c.gate, s.Tenant, func() (int, error) { return c.sweeper.Sweep(ctx, s, age, limit) })
}
