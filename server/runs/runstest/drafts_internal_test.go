package runstest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// The suite also ends for unfinished stores, and fails.
func TestSuiteEndsForDrafts(t *testing.T) {
	t.Parallel()
	for name, draft := range map[string]struct {
		fails string // a case that must fail
		open  func() runs.Store
	}{
		"nil":       {"records/round trip", func() runs.Store { return nil }},
		"panics":    {"records/round trip", func() runs.Store { return struct{ runs.Store }{} }},
		"nothing":   {"concurrency/readers", func() runs.Store { return nothing{} }},
		"no Events": {"concurrency/readers", func() runs.Store { return noEvents{memruns.New()} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failed []string
			for _, c := range allCases() {
				if len(suitetest.Record(func(tb testing.TB) { check(tb, func(testing.TB) runs.Store { return draft.open() }, c) })) > 0 {
					failed = append(failed, c.name)
				}
			}
			assert.Contains(t, failed, draft.fails)
		})
	}
}

// noEvents is a store whose logs cannot be read.
type noEvents struct{ *memruns.Store }

func (noEvents) Events(context.Context, string, int64, int) ([]runs.Event, error) { return nil, nil }

// nothing is a store whose methods return zero values.
type nothing struct{}

func (nothing) Insert(context.Context, ...runs.Record) error { return nil }

func (nothing) Get(context.Context, runs.Kind, string) (runs.Record, error) {
	return runs.Record{}, nil
}

func (nothing) Update(context.Context, runs.Record) (int64, error) { return 0, nil }

func (nothing) Delete(context.Context, runs.Kind, string) error { return nil }

func (nothing) Search(context.Context, runs.Query) ([]runs.Record, int, error) { return nil, 0, nil }

func (nothing) Append(context.Context, string, []runs.Event, ...runs.Record) error { return nil }

func (nothing) Events(context.Context, string, int64, int) ([]runs.Event, error) { return nil, nil }

func (nothing) Last(context.Context, string) (last, trimmed int64, err error) { return 0, 0, nil }

func (nothing) Trim(context.Context, string, runs.Bounds) (int, error) { return 0, nil }

func (nothing) PutTasks(context.Context, string, []runs.Task) error { return nil }

func (nothing) Tasks(context.Context, string, ...string) ([]runs.Task, error) { return nil, nil }

func (nothing) CopyTasks(context.Context, string, string) error { return nil }
