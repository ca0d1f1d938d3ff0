package checkpointtest

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// A suite that finds nothing wrong proves nothing: each of these stores breaks
// one promise, and the case named has to fail on it.
var brokenStores = []struct {
	name  string
	found string
	make  func(*checkpoint.Memory) checkpoint.Store
}{
	{"head is not checked", "concurrency/one_writer_wins", func(m *checkpoint.Memory) checkpoint.Store { return anyHead{m} }},
	{"head is not checked", "atomicity/head", func(m *checkpoint.Memory) checkpoint.Store { return anyHead{m} }},
	{"parent is the newest", "forks/abandoned_branch", func(m *checkpoint.Memory) checkpoint.Store { return noForks{m} }},
	{"parent is the newest", "model/puts_and_forks", func(m *checkpoint.Memory) checkpoint.Store { return noForks{m} }},
	{"pending writes stay", "put_writes/cleared_on_next_checkpoint", func(m *checkpoint.Memory) checkpoint.Store { return neverSettles{m} }},
	{"settling before the check", "atomicity/head", func(m *checkpoint.Memory) checkpoint.Store { return settlesFirst{m} }},
	{"repeat is a conflict", "atomicity/repeated_put", func(m *checkpoint.Memory) checkpoint.Store { return noRepeat{m} }},
	{"writes in order of arrival", "put_writes/task_path", func(m *checkpoint.Memory) checkpoint.Store { return unordered{m} }},
	{"hands out what it keeps", "put/owns_nothing", func(m *checkpoint.Memory) checkpoint.Store { return &aliasing{Memory: m} }},
	{"no limit", "limits/change", func(*checkpoint.Memory) checkpoint.Store {
		return checkpoint.NewMemory(checkpoint.MemoryOptions{MaxValue: -1})
	}},
	{"lineage past the snapshot", "delta_channel_history/seed_is_nearest_snapshot", func(m *checkpoint.Memory) checkpoint.Store { return noSnapshots{m} }},
	{"prune forgets", "prune/keep_latest_single_thread", func(m *checkpoint.Memory) checkpoint.Store { return forgets{m} }},
	{"leases for all", "lease/exclusive", func(m *checkpoint.Memory) checkpoint.Store { return leasesForAll{m} }},
	{"list ignores Before", "list/pagination", func(m *checkpoint.Memory) checkpoint.Store { return noBefore{m} }},
	{"list holds a lock", "list/while_writing", func(m *checkpoint.Memory) checkpoint.Store { return &locked{Memory: m} }},
	{"context is ignored", "atomicity/cancelled_before", func(m *checkpoint.Memory) checkpoint.Store { return noContext{m} }},
}

func TestSuiteFindsBrokenStores(t *testing.T) {
	t.Parallel()
	for _, broken := range brokenStores {
		t.Run(broken.name+"/"+broken.found, func(t *testing.T) {
			t.Parallel()
			h := Harness{
				Open: func(testing.TB) checkpoint.Store {
					return broken.make(checkpoint.NewMemory(checkpoint.MemoryOptions{MaxValue: 40_000}))
				},
				MaxValue: 40_000,
				Seed:     1,
			}
			i := slices.IndexFunc(allCases(), func(c testCase) bool { return c.name == broken.found })
			if i < 0 {
				t.Fatalf("no case %s", broken.found)
			}
			if !fails(h, allCases()[i]) {
				t.Errorf("%s does not see it", broken.found)
			}
		})
	}
}

// fails runs a case with a test of its own.
func fails(h Harness, c testCase) bool {
	r := &recorder{}
	var done sync.WaitGroup
	done.Go(func() { h.check(r, c) })
	done.Wait()
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
	return r.Failed()
}

// A recorder stands for a test. What it does not have, no case uses.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	cleanups []func()
}

func (r *recorder) fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Helper()               {}
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Error(...any)          { r.fail() }
func (r *recorder) Errorf(string, ...any) { r.fail() }
func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Fatal(...any) {
	r.fail()
	runtime.Goexit()
}

func (r *recorder) Fatalf(string, ...any) { r.Fatal() }

type anyHead struct{ *checkpoint.Memory }

func (s anyHead) Put(ctx context.Context, c checkpoint.Checkpoint, _ string) error {
	for {
		newest, err := s.Get(ctx, checkpoint.Key{Thread: c.Thread, Namespace: c.Namespace})
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
		if err := s.Memory.Put(ctx, c, newest.ID); !errors.Is(err, checkpoint.ErrConflict) {
			return err
		}
	}
}

type noForks struct{ *checkpoint.Memory }

func (s noForks) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	c.Parent = head
	return s.Memory.Put(ctx, c, head)
}

type neverSettles struct{ *checkpoint.Memory }

func (s neverSettles) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	c.Settles = false
	return s.Memory.Put(ctx, c, head)
}

type settlesFirst struct{ *checkpoint.Memory }

func (s settlesFirst) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	err := s.Memory.Put(ctx, c, head)
	if err != nil && c.Settles {
		// What a transaction that is not rolled back would leave.
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

type noRepeat struct{ *checkpoint.Memory }

func (s noRepeat) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if _, err := s.Get(ctx, c.Key); err == nil {
		return checkpoint.ErrConflict
	}
	return s.Memory.Put(ctx, c, head)
}

type unordered struct{ *checkpoint.Memory }

func (s unordered) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Memory.Get(ctx, k)
	slices.Reverse(c.Writes)
	return c, err
}

// aliasing keeps what it is given.
type aliasing struct {
	*checkpoint.Memory
	put checkpoint.Checkpoint
}

func (s *aliasing) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	s.put = c
	return s.Memory.Put(ctx, c, head)
}

func (s *aliasing) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Memory.Get(ctx, k)
	c.Changes = s.put.Changes
	return c, err
}

type noSnapshots struct{ *checkpoint.Memory }

func (s noSnapshots) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	c.Snapshot = nil
	return s.Memory.Put(ctx, c, head)
}

type forgets struct{ *checkpoint.Memory }

func (s forgets) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.Memory.Get(ctx, k)
	if c.Parent == "" && len(c.Lineage) > 1 {
		c.Lineage = c.Lineage[len(c.Lineage)-1:]
	}
	return c, err
}

type leasesForAll struct{ *checkpoint.Memory }

type freeLease struct{ *checkpoint.Memory }

func (freeLease) Release(context.Context) error { return nil }

func (s leasesForAll) Lease(context.Context, string) (checkpoint.Lease, error) {
	return freeLease(s), nil
}

type noBefore struct{ *checkpoint.Memory }

func (s noBefore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	if q.Before != "" {
		return func(func(checkpoint.Checkpoint, error) bool) {}
	}
	return s.Memory.List(ctx, q)
}

// locked refuses writes while it is listed, as one that waits for ever would.
type locked struct {
	*checkpoint.Memory
	listing bool
}

func (s *locked) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		s.listing = true
		defer func() { s.listing = false }()
		s.Memory.List(ctx, q)(yield)
	}
}

func (s *locked) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.listing {
		return context.DeadlineExceeded
	}
	return s.Memory.Put(ctx, c, head)
}

type noContext struct{ *checkpoint.Memory }

func (s noContext) Put(_ context.Context, c checkpoint.Checkpoint, head string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.Memory.Put(ctx, c, head)
}
