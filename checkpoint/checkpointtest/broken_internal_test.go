package checkpointtest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/internal/suitetest"
)

// brokenStores are stores that each break one promise, and the name of a case that
// must fail for the store.
var brokenStores = []struct {
	name  string
	fails string
	make  func(*memcheckpoint.Store) checkpoint.Store
}{
	{"head is not checked", "concurrency/one_writer_wins", func(s *memcheckpoint.Store) checkpoint.Store { return anyHead{s} }},
	{"head is not checked", "atomicity/head", func(s *memcheckpoint.Store) checkpoint.Store { return anyHead{s} }},
	{"parent is the newest", "forks/abandoned_branch", func(s *memcheckpoint.Store) checkpoint.Store { return noForks{s} }},
	{"parent is the newest", "model/puts_and_forks", func(s *memcheckpoint.Store) checkpoint.Store { return noForks{s} }},
	{"pending writes stay", "put_writes/cleared_on_next_checkpoint", func(s *memcheckpoint.Store) checkpoint.Store { return neverSettles{s} }},
	{"settling before the check", "atomicity/head", func(s *memcheckpoint.Store) checkpoint.Store { return settlesFirst{s} }},
	{"repeat is a conflict", "atomicity/repeated_put", func(s *memcheckpoint.Store) checkpoint.Store { return noRepeat{s} }},
	{"writes in order of arrival", "put_writes/task_path", func(s *memcheckpoint.Store) checkpoint.Store { return unordered{s} }},
	{"hands out what it keeps", "put/owns_nothing", func(s *memcheckpoint.Store) checkpoint.Store { return &aliasing{Store: s} }},
	{"no limit", "limits/change", func(*memcheckpoint.Store) checkpoint.Store {
		return memcheckpoint.New(memcheckpoint.Options{MaxValue: -1})
	}},
	{"lineage past the snapshot", "delta_channel_history/seed_is_nearest_snapshot", func(s *memcheckpoint.Store) checkpoint.Store { return noSnapshots{s} }},
	{"prune forgets", "prune/keep_latest_single_thread", func(s *memcheckpoint.Store) checkpoint.Store { return forgets{s} }},
	{"prune ignores calls", "prune/calls_of_removed_checkpoints", func(s *memcheckpoint.Store) checkpoint.Store { return ignoresCalls{s} }},
	{"prune ignores calls", "model/with_powers", func(s *memcheckpoint.Store) checkpoint.Store { return ignoresCalls{s} }},
	{"prune deletes no thread", "prune/idle", func(s *memcheckpoint.Store) checkpoint.Store { return neverDeletes{s} }},
	{"list ignores the node", "list_status/questions_and_failures", func(s *memcheckpoint.Store) checkpoint.Store { return anyNode{s} }},
	{"replaces writes of a task", "put_writes/one_by_one", func(s *memcheckpoint.Store) checkpoint.Store { return oneWriteATask{s} }},
	{"leases for all", "lease/exclusive", func(s *memcheckpoint.Store) checkpoint.Store { return leasesForAll{s} }},
	{"list ignores Before", "list/pagination", func(s *memcheckpoint.Store) checkpoint.Store { return noBefore{s} }},
	{"list holds a lock", "list/while_writing", func(s *memcheckpoint.Store) checkpoint.Store { return &locked{Store: s} }},
	{"context is ignored", "atomicity/cancelled_before", func(s *memcheckpoint.Store) checkpoint.Store { return noContext{s} }},
}

func TestSuiteFindsBrokenStores(t *testing.T) {
	t.Parallel()
	for _, broken := range brokenStores {
		t.Run(broken.name+"/"+broken.fails, func(t *testing.T) {
			t.Parallel()
			h := Harness{
				Open: func(testing.TB) checkpoint.Store {
					return broken.make(memcheckpoint.New(memcheckpoint.Options{MaxValue: 40_000}))
				},
				MaxValue: 40_000,
				Seed:     1,
			}
			i := slices.IndexFunc(allCases(), func(c testCase) bool { return c.name == broken.fails })
			require.GreaterOrEqual(t, i, 0, "no case %s", broken.fails)
			assert.True(t, fails(h, allCases()[i]), "%s accepts the broken store", broken.fails)
		})
	}
}

// fails reports whether a case fails for the stores of a harness.
func fails(h Harness, c testCase) bool {
	return len(suitetest.Record(func(tb testing.TB) { h.check(tb, c) })) > 0
}

type anyHead struct{ *memcheckpoint.Store }

func (s anyHead) Put(ctx context.Context, c checkpoint.Checkpoint, _ string) error {
	for {
		newest, err := s.Get(ctx, checkpoint.Key{Thread: c.Thread, Namespace: c.Namespace})
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
		if err := s.Store.Put(ctx, c, newest.ID); !errors.Is(err, checkpoint.ErrConflict) {
			return err
		}
	}
}

type noForks struct{ *memcheckpoint.Store }

func (s noForks) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	c.Parent = head
	return s.Store.Put(ctx, c, head)
}

type neverSettles struct{ *memcheckpoint.Store }

func (s neverSettles) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	c.Settles = false
	return s.Store.Put(ctx, c, head)
}

type settlesFirst struct{ *memcheckpoint.Store }

func (s settlesFirst) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	err := s.Store.Put(ctx, c, head)
	if err != nil && c.Settles {
		// Change the pending writes of the parent, as a store without a rollback could.
		k := c.Key
		k.ID = c.Parent
		parent, _ := s.Get(ctx, k)
		for _, w := range parent.Writes {
			w.Data = nil
			_ = s.PutWrites(ctx, k, []checkpoint.Write{w})
		}
	}
	return err
}

type noRepeat struct{ *memcheckpoint.Store }

func (s noRepeat) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if _, err := s.Get(ctx, c.Key); err == nil {
		return checkpoint.ErrConflict
	}
	return s.Store.Put(ctx, c, head)
}

type unordered struct{ *memcheckpoint.Store }

func (s unordered) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Store.Get(ctx, k)
	slices.Reverse(c.Writes)
	return c, err
}

// aliasing keeps a reference to the argument of Put.
type aliasing struct {
	*memcheckpoint.Store
	put checkpoint.Checkpoint
}

func (s *aliasing) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	s.put = c
	return s.Store.Put(ctx, c, head)
}

func (s *aliasing) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Store.Get(ctx, k)
	c.Changes = s.put.Changes
	return c, err
}

type noSnapshots struct{ *memcheckpoint.Store }

func (s noSnapshots) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	c.Snapshot = nil
	return s.Store.Put(ctx, c, head)
}

type forgets struct{ *memcheckpoint.Store }

func (s forgets) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Store.Get(ctx, k)
	if c.Parent == "" && len(c.Lineage) > 1 {
		c.Lineage = c.Lineage[len(c.Lineage)-1:]
	}
	return c, err
}

// ignoresCalls stores the checkpoints of a call in a namespace that does not look like the
// namespace of a call.
type ignoresCalls struct{ *memcheckpoint.Store }

func hidden(k checkpoint.Key) checkpoint.Key {
	k.Namespace = strings.ReplaceAll(k.Namespace, "@", "#")
	return k
}

func shown(c checkpoint.Checkpoint) checkpoint.Checkpoint {
	c.Namespace = strings.ReplaceAll(c.Namespace, "#", "@")
	return c
}

func (s ignoresCalls) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	c.Key = hidden(c.Key)
	return s.Store.Put(ctx, c, head)
}

func (s ignoresCalls) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	return s.Store.PutWrites(ctx, hidden(k), writes)
}

func (s ignoresCalls) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Store.Get(ctx, hidden(k))
	return shown(c), err
}

func (s ignoresCalls) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		for c, err := range s.Store.List(ctx, q) {
			if !yield(shown(c), err) {
				return
			}
		}
	}
}

type oneWriteATask struct{ *memcheckpoint.Store }

func (s oneWriteATask) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	for i := range writes {
		writes[i].Index = 0
	}
	return s.Store.PutWrites(ctx, k, writes)
}

type leasesForAll struct{ *memcheckpoint.Store }

type freeLease struct{ *memcheckpoint.Store }

func (freeLease) Release(context.Context) error { return nil }

func (s leasesForAll) Lease(context.Context, string) (checkpoint.Lease, error) {
	return freeLease(s), nil
}

type noBefore struct{ *memcheckpoint.Store }

func (s noBefore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	if q.Before != "" {
		return func(func(checkpoint.Checkpoint, error) bool) {}
	}
	return s.Store.List(ctx, q)
}

// locked rejects Put during List, like a store in which Put waits for a lock of List until
// its context ends.
type locked struct {
	*memcheckpoint.Store
	listing bool
}

func (s *locked) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		s.listing = true
		defer func() { s.listing = false }()
		s.Store.List(ctx, q)(yield)
	}
}

func (s *locked) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.listing {
		return context.DeadlineExceeded
	}
	return s.Store.Put(ctx, c, head)
}

type noContext struct{ *memcheckpoint.Store }

func (s noContext) Put(_ context.Context, c checkpoint.Checkpoint, head string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Store.Put(ctx, c, head)
}

type neverDeletes struct{ *memcheckpoint.Store }

func (s neverDeletes) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	p.DeleteIdle = 0
	return s.Store.Prune(ctx, p)
}

type anyNode struct{ *memcheckpoint.Store }

func (s anyNode) ListStatus(ctx context.Context, q checkpoint.StatusQuery) iter.Seq2[checkpoint.ThreadStatus, error] {
	q.Node = ""
	return s.Store.ListStatus(ctx, q)
}
