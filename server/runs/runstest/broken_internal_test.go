package runstest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A broken store breaks promises: the functions that are set replace or change its methods.
type broken struct {
	*memruns.Store
	insert func(s *memruns.Store, records []runs.Record) error
	update func(s *memruns.Store, r runs.Record) (int64, error)
	remove func(s *memruns.Store, kind runs.Kind, id string) error
	query  func(q *runs.Query)
	events func(s *memruns.Store, events []runs.Event) []runs.Event
	last   func(last, trimmed int64) (int64, int64)
	bounds func(b *runs.Bounds)
	copied bool
}

func (b *broken) Insert(ctx context.Context, records ...runs.Record) error {
	if b.insert != nil {
		return b.insert(b.Store, records)
	}
	return b.Store.Insert(ctx, records...)
}

func (b *broken) Update(ctx context.Context, r runs.Record) (int64, error) {
	if b.update != nil {
		return b.update(b.Store, r)
	}
	return b.Store.Update(ctx, r)
}

func (b *broken) Delete(ctx context.Context, kind runs.Kind, id string) error {
	if b.remove != nil {
		return b.remove(b.Store, kind, id)
	}
	return b.Store.Delete(ctx, kind, id)
}

func (b *broken) Search(ctx context.Context, q runs.Query) ([]runs.Record, int, error) {
	if b.query != nil {
		b.query(&q)
	}
	return b.Store.Search(ctx, q)
}

func (b *broken) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if b.events != nil {
		events = b.events(b.Store, events)
	}
	return b.Store.Append(ctx, thread, events, replaced...)
}

func (b *broken) Last(ctx context.Context, thread string) (last, trimmed int64, err error) {
	last, trimmed, err = b.Store.Last(ctx, thread)
	if b.last != nil {
		last, trimmed = b.last(last, trimmed)
	}
	return last, trimmed, err
}

func (b *broken) Trim(ctx context.Context, thread string, keep runs.Bounds) (int, error) {
	if b.bounds != nil {
		b.bounds(&keep)
	}
	return b.Store.Trim(ctx, thread, keep)
}

func (b *broken) CopyTasks(ctx context.Context, from, to string) error {
	if b.copied {
		return nil
	}
	return b.Store.CopyTasks(ctx, from, to)
}

func TestSuiteFindsBrokenStores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails string
		store broken
	}{
		"insert of one after the other": {"records/insert all or none", broken{insert: func(s *memruns.Store, records []runs.Record) error {
			for _, r := range records {
				if err := s.Insert(context.Background(), r); err != nil {
					return err
				}
			}
			return nil
		}}},
		"no check": {"records/limits of texts", broken{insert: func(*memruns.Store, []runs.Record) error { return nil }}},
		"no revisions": {"concurrency/updates", broken{update: func(s *memruns.Store, r runs.Record) (int64, error) {
			old, err := s.Get(context.Background(), r.Kind, r.ID)
			if err != nil {
				return 0, err
			}
			r.Revision = old.Revision
			return s.Update(context.Background(), r)
		}}},
		"no context": {"records/context", broken{remove: func(s *memruns.Store, kind runs.Kind, id string) error {
			return s.Delete(context.Background(), kind, id)
		}}},
		"delete of nothing": {"records/not found", broken{remove: func(s *memruns.Store, kind runs.Kind, id string) error {
			_ = s.Delete(context.Background(), kind, id)
			return nil
		}}},
		"no owner":        {"search/fields", broken{query: func(q *runs.Query) { q.Filter.Owner = nil }}},
		"any owner":       {"search/filter of runs", broken{query: func(q *runs.Query) { q.Owner = nil }}},
		"no ids besides":  {"search/filter", broken{query: func(q *runs.Query) { q.Filter.IDs = nil }}},
		"no filter":       {"search/filter", broken{query: func(q *runs.Query) { q.Filter = runs.Filter{} }}},
		"all runs":        {"search/filter of runs", broken{query: func(q *runs.Query) { q.Filter = runs.Filter{} }}},
		"no expiry":       {"search/fields", broken{query: func(q *runs.Query) { q.Expired = start.AddDate(1, 0, 0) }}},
		"no metadata":     {"search/metadata", broken{query: func(q *runs.Query) { q.Metadata = nil }}},
		"one order":       {"search/orders", broken{query: func(q *runs.Query) { q.Order = runs.ByID }}},
		"never reversed":  {"search/orders", broken{query: func(q *runs.Query) { q.Reverse = false }}},
		"no offset":       {"search/pages", broken{query: func(q *runs.Query) { q.Offset = 0 }}},
		"no limit":        {"search/pages", broken{query: func(q *runs.Query) { q.Limit = 0 }}},
		"any numbers":     {"log/numbers", broken{events: renumbered}},
		"lost events":     {"log/round trip", broken{events: func(_ *memruns.Store, e []runs.Event) []runs.Event { return e[:max(len(e)-1, 0)] }}},
		"no trimmed ones": {"trim/count", broken{last: func(last, _ int64) (int64, int64) { return last, 0 }}},
		"no count":        {"trim/count", broken{bounds: func(b *runs.Bounds) { b.Events = 0 }}},
		"no size":         {"trim/bytes", broken{bounds: func(b *runs.Bounds) { b.Bytes = 0 }}},
		"no copies":       {"tasks/copy", broken{copied: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(allCases(), func(one testCase) bool { return one.name == c.fails })
			require.GreaterOrEqual(t, i, 0, "no case %s", c.fails)
			failures := suitetest.Record(func(tb testing.TB) {
				check(tb, func(testing.TB) runs.Store {
					c.store.Store = memruns.New()
					return &c.store
				}, allCases()[i])
			})
			assert.NotEmpty(t, failures, "%s accepts the store", c.fails)
		})
	}
}

// renumbered numbers events so that they follow the last event of the thread t.
func renumbered(s *memruns.Store, events []runs.Event) []runs.Event {
	last, _, _ := s.Last(context.Background(), "t")
	events = slices.Clone(events)
	for i := range events {
		events[i].Seq = last + int64(i) + 1
	}
	return events
}
