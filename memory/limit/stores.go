package limit

import (
	"context"
	"iter"

	"github.com/weft-go/weft/memory/driver"
)

// call calls fn as soon as the limits allow a call of the scope's tenant. It returns [driver.ErrBusy] if too many calls
// of the tenant wait.
func call[T any](ctx context.Context, l *limits, s driver.Scope, fn func() (T, error)) (T, error) {
	leave, err := l.enter(ctx, s.Tenant, true)
	if err != nil {
		var none T
		return none, err
	}
	defer leave()
	return fn()
}

// list yields the elements of a listing. The listing counts for the rate of the tenant, and holds no place.
func list[T any](ctx context.Context, l *limits, s driver.Scope, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		leave, err := l.enter(ctx, s.Tenant, false)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		leave()
		seq(yield)
	}
}

type facts struct {
	driver.FactStore
	limits *limits
}

func (f facts) Apply(ctx context.Context, s driver.Scope, changes []driver.FactChange) ([]driver.Applied, error) {
	return call(ctx, f.limits, s, func() ([]driver.Applied, error) { return f.FactStore.Apply(ctx, s, changes) })
}

func (f facts) Find(ctx context.Context, q driver.FactQuery) iter.Seq2[driver.FactRecord, error] {
	return list(ctx, f.limits, q.Scope, f.FactStore.Find(ctx, q))
}

func (f facts) Search(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	return call(ctx, f.limits, s.Query.Scope, func() (driver.FactCandidates, error) { return f.FactStore.Search(ctx, s) })
}

func (f facts) History(ctx context.Context, s driver.Scope, id string) iter.Seq2[driver.Event, error] {
	return list(ctx, f.limits, s, f.FactStore.History(ctx, s, id))
}

func (f facts) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return call(ctx, f.limits, s, func() (int, error) { return f.FactStore.Forget(ctx, s) })
}

type values struct {
	driver.ValueStore
	limits *limits
}

func (v values) Apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) ([]driver.Item, error) {
	return call(ctx, v.limits, s, func() ([]driver.Item, error) { return v.ValueStore.Apply(ctx, s, writes) })
}

func (v values) Find(ctx context.Context, s driver.Scope, q driver.ValueSelection) iter.Seq2[driver.Item, error] {
	return list(ctx, v.limits, s, v.ValueStore.Find(ctx, s, q))
}

func (v values) Search(ctx context.Context, s driver.Scope, q driver.ValueSearch) (driver.ValueCandidates, error) {
	return call(ctx, v.limits, s, func() (driver.ValueCandidates, error) { return v.ValueStore.Search(ctx, s, q) })
}

func (v values) Namespaces(ctx context.Context, s driver.Scope, q driver.NamespaceQuery) iter.Seq2[[]string, error] {
	return list(ctx, v.limits, s, v.ValueStore.Namespaces(ctx, s, q))
}

func (v values) Index(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) (int, error) {
	return call(ctx, v.limits, s, func() (int, error) { return v.ValueStore.Index(ctx, s, writes) })
}

func (v values) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return call(ctx, v.limits, s, func() (int, error) { return v.ValueStore.Forget(ctx, s) })
}

type documents struct {
	driver.DocumentStore
	limits *limits
}

func (d documents) Swap(ctx context.Context, c driver.SourceChange) error {
	_, err := call(ctx, d.limits, c.Scope, func() (struct{}, error) { return struct{}{}, d.DocumentStore.Swap(ctx, c) })
	return err
}

func (d documents) Sources(ctx context.Context, q driver.SourceQuery) iter.Seq2[driver.Source, error] {
	return list(ctx, d.limits, q.Scope, d.DocumentStore.Sources(ctx, q))
}

func (d documents) Chunks(ctx context.Context, spans []driver.ChunkSpan) iter.Seq2[driver.Chunk, error] {
	if len(spans) == 0 {
		return d.DocumentStore.Chunks(ctx, spans)
	}
	return list(ctx, d.limits, spans[0].Scope, d.DocumentStore.Chunks(ctx, spans))
}

func (d documents) Search(ctx context.Context, s driver.ChunkSearch) (driver.ChunkCandidates, error) {
	return call(ctx, d.limits, s.Query.Scope, func() (driver.ChunkCandidates, error) { return d.DocumentStore.Search(ctx, s) })
}

func (d documents) Delete(ctx context.Context, q driver.SourceQuery) (int, error) {
	return call(ctx, d.limits, q.Scope, func() (int, error) { return d.DocumentStore.Delete(ctx, q) })
}

func (d documents) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return call(ctx, d.limits, s, func() (int, error) { return d.DocumentStore.Forget(ctx, s) })
}

// Reindex implements [driver.Reindexer] if the store implements it.
func (d documents) Reindex(ctx context.Context, q driver.SourceQuery) (int, error) {
	return driver.Reindex(ctx, d.DocumentStore, q)
}

type conversations struct {
	driver.ConversationStore
	limits *limits
}

func (c conversations) Apply(ctx context.Context, s driver.Scope, change driver.SessionChange) (driver.Session, error) {
	return call(ctx, c.limits, s, func() (driver.Session, error) { return c.ConversationStore.Apply(ctx, s, change) })
}

func (c conversations) Sessions(ctx context.Context, q driver.SessionQuery) iter.Seq2[driver.Session, error] {
	return list(ctx, c.limits, q.Scope, c.ConversationStore.Sessions(ctx, q))
}

func (c conversations) Messages(ctx context.Context, r driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	return list(ctx, c.limits, r.Scope, c.ConversationStore.Messages(ctx, r))
}

func (c conversations) Search(ctx context.Context, s driver.MessageSearch) (driver.MessageCandidates, error) {
	return call(ctx, c.limits, s.Query.Scope, func() (driver.MessageCandidates, error) { return c.ConversationStore.Search(ctx, s) })
}

func (c conversations) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return call(ctx, c.limits, s, func() (int, error) { return c.ConversationStore.Forget(ctx, s) })
}
