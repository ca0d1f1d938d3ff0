package checkpointtest

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// Values of testCase.needs.
const (
	needsLease   = "Leaser"
	needsThreads = "ThreadLister"
	needsStatus  = "StatusLister"
	needsCopy    = "ThreadCopier"
	needsPrune   = "Pruner"
	needsRuns    = "RunDeleter"
	needsReopen  = "reopening"
	needsCorrupt = "corruption"
)

// features returns the optional interfaces that the store implements and the
// optional fields that the harness has. It calls each optional method with
// arguments that change nothing.
func (h Harness) features(tb testing.TB) []string {
	tb.Helper()
	ctx, store := context.Background(), h.Open(tb)
	var has []string
	add := func(feature string, err error) {
		if !errors.Is(err, errors.ErrUnsupported) {
			has = append(has, feature)
		}
	}
	if s, ok := store.(checkpoint.Leaser); ok {
		lease, err := s.Lease(ctx, "unknown")
		add(needsLease, err)
		if err == nil {
			if err := lease.Release(ctx); err != nil {
				tb.Errorf("release: %v", err)
			}
		}
	}
	if s, ok := store.(checkpoint.ThreadLister); ok {
		var failed error
		for _, err := range s.ListThreads(ctx, "unknown") {
			failed = err
		}
		add(needsThreads, failed)
	}
	if s, ok := store.(checkpoint.StatusLister); ok {
		var failed error
		for _, err := range s.ListStatus(ctx, checkpoint.StatusQuery{Status: checkpoint.Paused, Limit: 1}) {
			failed = err
		}
		add(needsStatus, failed)
	}
	if s, ok := store.(checkpoint.ThreadCopier); ok {
		add(needsCopy, s.CopyThread(ctx, "unknown", "target"))
	}
	if s, ok := store.(checkpoint.Pruner); ok {
		_, err := s.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{}})
		add(needsPrune, err)
	}
	if s, ok := store.(checkpoint.RunDeleter); ok {
		add(needsRuns, s.DeleteRuns(ctx, "unknown", "none"))
	}
	if h.Reopen != nil {
		has = append(has, needsReopen)
	}
	if h.Corrupt != nil {
		has = append(has, needsCorrupt)
	}
	return has
}

func (f *fixture) leaser() checkpoint.Leaser         { return optional[checkpoint.Leaser](f) }
func (f *fixture) lister() checkpoint.ThreadLister   { return optional[checkpoint.ThreadLister](f) }
func (f *fixture) copier() checkpoint.ThreadCopier   { return optional[checkpoint.ThreadCopier](f) }
func (f *fixture) pruner() checkpoint.Pruner         { return optional[checkpoint.Pruner](f) }
func (f *fixture) runDeleter() checkpoint.RunDeleter { return optional[checkpoint.RunDeleter](f) }

// optional returns the store as an optional interface. It fails the case if the store does
// not implement the interface.
func optional[P any](f *fixture) P {
	f.Helper()
	p, ok := f.store.(P)
	if !ok {
		f.Fatalf("%T does not implement the interface that the case requires", f.store)
	}
	return p
}
