package checkpointtest

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// What a case can need.
const (
	needsLease   = "Leaser"
	needsThreads = "ThreadLister"
	needsCopy    = "ThreadCopier"
	needsPrune   = "Pruner"
	needsRuns    = "RunDeleter"
	needsReopen  = "reopening"
	needsCorrupt = "corruption"
)

// powers asks a store what it can do with calls that change nothing.
func (h Harness) powers(tb testing.TB) []string {
	tb.Helper()
	ctx, store := context.Background(), h.Open(tb)
	var has []string
	note := func(power string, err error) {
		if !errors.Is(err, errors.ErrUnsupported) {
			has = append(has, power)
		}
	}
	if s, ok := store.(checkpoint.Leaser); ok {
		lease, err := s.Lease(ctx, "nobody")
		note(needsLease, err)
		if err == nil {
			if err := lease.Release(ctx); err != nil {
				tb.Errorf("release: %v", err)
			}
		}
	}
	if s, ok := store.(checkpoint.ThreadLister); ok {
		var failed error
		for _, err := range s.ListThreads(ctx, "nobody") {
			failed = err
		}
		note(needsThreads, failed)
	}
	if s, ok := store.(checkpoint.ThreadCopier); ok {
		note(needsCopy, s.CopyThread(ctx, "nobody", "nowhere"))
	}
	if s, ok := store.(checkpoint.Pruner); ok {
		_, err := s.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{}})
		note(needsPrune, err)
	}
	if s, ok := store.(checkpoint.RunDeleter); ok {
		note(needsRuns, s.DeleteRuns(ctx, "nobody", "none"))
	}
	if h.Reopen != nil {
		has = append(has, needsReopen)
	}
	if h.Corrupt != nil {
		has = append(has, needsCorrupt)
	}
	return has
}

func (k *kit) leaser() checkpoint.Leaser         { return power[checkpoint.Leaser](k) }
func (k *kit) lister() checkpoint.ThreadLister   { return power[checkpoint.ThreadLister](k) }
func (k *kit) copier() checkpoint.ThreadCopier   { return power[checkpoint.ThreadCopier](k) }
func (k *kit) pruner() checkpoint.Pruner         { return power[checkpoint.Pruner](k) }
func (k *kit) runDeleter() checkpoint.RunDeleter { return power[checkpoint.RunDeleter](k) }

func power[P any](k *kit) P {
	k.Helper()
	p, ok := k.store.(P)
	if !ok {
		k.Fatalf("%T has lost a power", k.store)
	}
	return p
}
