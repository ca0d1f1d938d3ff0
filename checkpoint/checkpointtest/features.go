package checkpointtest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/suitetest"
)

// Values of testCase.needs.
const (
	needsLease   = "Leaser"
	needsThreads = "ThreadLister"
	needsStatus  = "StatusLister"
	needsCopy    = "ThreadCopier"
	needsPrune   = "Pruner"
	needsRuns    = "RunDeleter"
	needsReopen  = "Harness.Reopen"
	needsCorrupt = "Harness.Corrupt"
	// needsChanges requires at least one of ThreadCopier, Pruner and RunDeleter.
	needsChanges = "a change of whole threads"
)

// features returns the optional interfaces that the store implements and the
// optional fields that the harness has. It calls each optional method with
// arguments that change nothing. A method that panics counts as implemented: its
// cases report the panic.
func (h Harness) features(tb testing.TB) []string {
	tb.Helper()
	ctx, store := context.Background(), h.open(tb)
	var has []string
	add := func(feature string, implemented bool, call func() error) {
		if implemented && !errors.Is(suitetest.Recovered(call), errors.ErrUnsupported) {
			has = append(has, feature)
		}
	}
	leaser, ok := store.(checkpoint.Leaser)
	add(needsLease, ok, func() error {
		lease, err := leaser.Lease(ctx, "unknown")
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	})
	threads, ok := store.(checkpoint.ThreadLister)
	add(needsThreads, ok, func() error { return lastError(threads.ListThreads(ctx, "unknown")) })
	statuses, ok := store.(checkpoint.StatusLister)
	add(needsStatus, ok, func() error {
		return lastError(statuses.ListStatus(ctx, checkpoint.StatusQuery{Status: checkpoint.Paused, Limit: 1}))
	})
	copier, ok := store.(checkpoint.ThreadCopier)
	add(needsCopy, ok, func() error { return copier.CopyThread(ctx, "unknown", "target") })
	pruner, ok := store.(checkpoint.Pruner)
	add(needsPrune, ok, func() error {
		_, err := pruner.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{}})
		return err
	})
	deleter, ok := store.(checkpoint.RunDeleter)
	add(needsRuns, ok, func() error { return deleter.DeleteRuns(ctx, "unknown", "none") })
	if slices.ContainsFunc(has, func(f string) bool { return f == needsCopy || f == needsPrune || f == needsRuns }) {
		has = append(has, needsChanges)
	}
	if h.Reopen != nil {
		has = append(has, needsReopen)
	}
	if h.Corrupt != nil {
		has = append(has, needsCorrupt)
	}
	return has
}

// lastError returns the last error of a list.
func lastError[T any](list iter.Seq2[T, error]) (last error) {
	for _, err := range list {
		last = err
	}
	return last
}

// without returns the optional interfaces and fields that are not among the features.
func without(has []string) []string {
	all := []string{needsLease, needsThreads, needsStatus, needsCopy, needsPrune, needsRuns, needsReopen, needsCorrupt}
	return slices.DeleteFunc(all, func(f string) bool { return slices.Contains(has, f) })
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
