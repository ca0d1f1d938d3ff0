package checkpointtest

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/suitetest"
)

// drafts are unfinished stores. The suite must end for each of them, and must not panic if a
// store ignores a part of a query.
var drafts = map[string]struct {
	open  func() checkpoint.Store
	fails string // a case that must fail
}{
	"nil":          {func() checkpoint.Store { return nil }, "put/roundtrip"},
	"nil pointer":  {func() checkpoint.Store { return (*memcheckpoint.Store)(nil) }, "put/roundtrip"},
	"panics":       {func() checkpoint.Store { return struct{ checkpoint.Store }{} }, "put/roundtrip"},
	"does nothing": {func() checkpoint.Store { return nothing{} }, "put/roundtrip"},
	"no List":      {func() checkpoint.Store { return lists(func(checkpoint.Query) *checkpoint.Query { return nil }) }, "list/fields"},
	"no Before":    {func() checkpoint.Store { return ignores(func(q *checkpoint.Query) { q.Before = "" }) }, "list/pagination"},
	"no Writes":    {func() checkpoint.Store { return ignores(func(q *checkpoint.Query) { q.Writes = false }) }, "list/includes_pending_writes"},
	"no filters": {func() checkpoint.Store {
		return ignores(func(q *checkpoint.Query) { *q = checkpoint.Query{Thread: q.Thread} })
	}, "list/pagination"},
	"sequence is nil": {func() checkpoint.Store { return noSequence{memcheckpoint.New(memcheckpoint.Options{MaxValue: 40_000})} }, "list/all"},
}

func TestSuiteEndsForDrafts(t *testing.T) {
	t.Parallel()
	for name, draft := range drafts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Harness{Open: func(testing.TB) checkpoint.Store { return draft.open() }, MaxValue: 40_000, Seed: 1}
			failures := map[string][]string{}
			for _, c := range allCases() {
				if c.needs != "" {
					continue
				}
				if texts := suitetest.Record(func(tb testing.TB) { h.check(tb, c) }); len(texts) > 0 {
					failures[c.name] = texts
				}
			}
			assert.Contains(t, failures, draft.fails)
			if strings.HasPrefix(name, "no ") {
				for name, texts := range failures {
					assert.NotContains(t, strings.Join(texts, " "), "panicked", name)
				}
			}
		})
	}
}

func TestSuiteSaysThatThereIsNoStore(t *testing.T) {
	t.Parallel()
	for _, open := range []func() checkpoint.Store{drafts["nil"].open, drafts["nil pointer"].open} {
		failures := suitetest.Record(func(tb testing.TB) {
			Harness{Open: func(testing.TB) checkpoint.Store { return open() }}.features(tb)
		})
		assert.Equal(t, []string{"the suite got no store: the function that the test passes to the suite returned nil"}, failures)
	}
}

// An optional method that panics counts as implemented, so that its cases report the panic.
func TestOptionalMethodThatPanicsIsTested(t *testing.T) {
	t.Parallel()
	var has []string
	failures := suitetest.Record(func(tb testing.TB) {
		has = Harness{Open: func(testing.TB) checkpoint.Store { return noSequence{} }}.features(tb)
	})
	assert.Empty(t, failures)
	assert.Contains(t, has, needsThreads)
}

// nothing is a store whose methods return zero values.
type nothing struct{}

func (nothing) Put(context.Context, checkpoint.Checkpoint, string) error { return nil }

func (nothing) PutWrites(context.Context, checkpoint.Key, []checkpoint.Write) error { return nil }

func (nothing) Get(context.Context, checkpoint.Key) (checkpoint.Checkpoint, error) {
	return checkpoint.Checkpoint{}, nil
}

func (nothing) List(context.Context, checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(func(checkpoint.Checkpoint, error) bool) {}
}

func (nothing) DeleteThread(context.Context, string) error { return nil }

// listing is a store that changes the query of each List. If change returns nil, the list is empty.
type listing struct {
	checkpoint.Store
	change func(checkpoint.Query) *checkpoint.Query
}

func lists(change func(checkpoint.Query) *checkpoint.Query) checkpoint.Store {
	return listing{memcheckpoint.New(memcheckpoint.Options{MaxValue: 40_000}), change}
}

func ignores(change func(*checkpoint.Query)) checkpoint.Store {
	return lists(func(q checkpoint.Query) *checkpoint.Query {
		change(&q)
		return &q
	})
}

func (s listing) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	if changed := s.change(q); changed != nil {
		return s.Store.List(ctx, *changed)
	}
	return func(func(checkpoint.Checkpoint, error) bool) {}
}

// noSequence is a store whose lists are nil.
type noSequence struct{ *memcheckpoint.Store }

func (noSequence) List(context.Context, checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return nil
}

func (noSequence) ListThreads(context.Context, string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return nil
}
