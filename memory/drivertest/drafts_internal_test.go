package drivertest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

// A suite ends and fails if the store is unfinished, for example if its methods panic or return zero values.
func TestSuitesEndForDrafts(t *testing.T) {
	t.Parallel()
	facts := func(open func() driver.FactStore) func(tb testing.TB) {
		return func(tb testing.TB) {
			for _, c := range factCases() {
				apart(tb, func(tb testing.TB) { c.check(tb, func(testing.TB) driver.FactStore { return open() }, 1) })
			}
		}
	}
	values := func(open func() driver.ValueStore) func(tb testing.TB) {
		return func(tb testing.TB) {
			for _, c := range allValueCases() {
				apart(tb, func(tb testing.TB) { c.check(tb, func(testing.TB) driver.ValueStore { return open() }) })
			}
		}
	}
	documents := func(open func() driver.DocumentStore) func(tb testing.TB) {
		return func(tb testing.TB) {
			for _, c := range allDocumentCases() {
				apart(tb, func(tb testing.TB) { c.check(tb, func(testing.TB) driver.DocumentStore { return open() }) })
			}
		}
	}
	conversations := func(open func() driver.ConversationStore) func(tb testing.TB) {
		return func(tb testing.TB) {
			for _, c := range allConversationCases() {
				apart(tb, func(tb testing.TB) { c.check(tb, func(testing.TB) driver.ConversationStore { return open() }) })
			}
		}
	}
	turns := func(open func() driver.TurnStore) func(tb testing.TB) {
		return func(tb testing.TB) {
			for _, c := range turnCases {
				apart(tb, func(tb testing.TB) { c.check(tb, func(testing.TB) driver.TurnStore { return open() }) })
			}
		}
	}
	for name, suite := range map[string]func(tb testing.TB){
		"facts/nil":          facts(func() driver.FactStore { return nil }),
		"facts/panics":       facts(func() driver.FactStore { return struct{ driver.FactStore }{} }),
		"facts/nothing":      facts(func() driver.FactStore { return noFacts{} }),
		"values/nil":         values(func() driver.ValueStore { return nil }),
		"values/panics":      values(func() driver.ValueStore { return struct{ driver.ValueStore }{} }),
		"values/no query":    values(func() driver.ValueStore { return wholeValues{inmemory.NewValues(inmemory.Options{})} }),
		"documents/nil":      documents(func() driver.DocumentStore { return nil }),
		"documents/panics":   documents(func() driver.DocumentStore { return struct{ driver.DocumentStore }{} }),
		"conversations/nil":  conversations(func() driver.ConversationStore { return nil }),
		"conversation/panic": conversations(func() driver.ConversationStore { return struct{ driver.ConversationStore }{} }),
		"turns/nil":          turns(func() driver.TurnStore { return nil }),
		"turns/panics":       turns(func() driver.TurnStore { return struct{ driver.TurnStore }{} }),
		"turns/one job":      turns(func() driver.TurnStore { return oneJob{} }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.True(t, recorded(suite), "the suite accepts the store")
		})
	}
}

// apart runs a case in a recorded test of its own, so that a Fatal of the case does not end tb. It fails tb if the
// case fails.
func apart(tb testing.TB, check func(tb testing.TB)) {
	tb.Helper()
	if recorded(check) {
		tb.Errorf("a case has failed")
	}
}

// noFacts is a store whose methods return zero values.
type noFacts struct{ driver.FactStore }

func (noFacts) Apply(context.Context, driver.Scope, []driver.FactChange) ([]driver.Applied, error) {
	return nil, nil
}

func (noFacts) Find(context.Context, driver.FactQuery) iter.Seq2[driver.FactRecord, error] {
	return nothing[driver.FactRecord]
}

func (noFacts) Search(context.Context, driver.FactSearch) (driver.FactCandidates, error) {
	return driver.FactCandidates{}, nil
}

func (noFacts) History(context.Context, driver.Scope, string) iter.Seq2[driver.Event, error] {
	return nothing[driver.Event]
}

// Sweep always reports one removed fact.
func (noFacts) Sweep(context.Context, int) (int, error) { return 1, nil }

func nothing[T any](func(T, error) bool) {}

// wholeValues is a store that ignores the query: it always finds all values and namespaces of the scope.
type wholeValues struct{ *inmemory.Values }

func (s wholeValues) Find(ctx context.Context, scope driver.Scope, _ driver.ValueSelection) iter.Seq2[driver.Item, error] {
	return s.Values.Find(ctx, scope, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}})
}

func (s wholeValues) Namespaces(ctx context.Context, scope driver.Scope, _ driver.NamespaceQuery) iter.Seq2[[]string, error] {
	return s.Values.Namespaces(ctx, scope, driver.NamespaceQuery{Limit: -1})
}

// oneJob is a queue that gives the same job to each Claim.
type oneJob struct{ driver.TurnStore }

func (oneJob) Enqueue(context.Context, driver.Turn) error { return nil }

func (oneJob) Claim(context.Context, int, time.Duration) ([]driver.Turn, error) {
	return []driver.Turn{job(1)}, nil
}

func (oneJob) Finish(context.Context, driver.Turn) error { return nil }

func (oneJob) Retry(context.Context, driver.Turn, time.Duration, string) error { return nil }

func (oneJob) Count(context.Context) (driver.TurnCounts, error) { return driver.TurnCounts{}, nil }
