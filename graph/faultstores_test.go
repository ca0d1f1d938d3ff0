package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// newStore returns a store in memory without leases.
func newStore() checkpoint.Store {
	return plain{memcheckpoint.New(memcheckpoint.Options{})}
}

// plain hides the optional interfaces of a store.
type plain struct{ checkpoint.Store }

// A gatedStore calls a function of the test before each write. If the function returns an
// error, the write fails.
type gatedStore struct {
	checkpoint.Store
	put       func(context.Context, *checkpoint.Checkpoint) error
	putWrites func(context.Context, []checkpoint.Write) error
}

func (s *gatedStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.put != nil {
		if err := s.put(ctx, &c); err != nil {
			return err
		}
	}
	return s.Store.Put(ctx, c, head)
}

func (s *gatedStore) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if s.putWrites != nil {
		if err := s.putWrites(ctx, writes); err != nil {
			return err
		}
	}
	return s.Store.PutWrites(ctx, k, writes)
}

// A dyingStore fails every write once dead is true.
type dyingStore struct {
	checkpoint.Store
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (s *dyingStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.dead.Load() {
		return errDead
	}
	return s.Store.Put(ctx, c, head)
}

func (s *dyingStore) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if s.dead.Load() {
		return errDead
	}
	return s.Store.PutWrites(ctx, k, writes)
}

// hang waits for the end of a context, like a call on a connection that does not respond.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// eachMode runs a test in every durability mode.
func eachMode(t *testing.T, test func(t *testing.T, d graph.Durability)) {
	t.Helper()
	for _, d := range modes {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// eachModeAndStore runs a test in every durability mode on every store, including
// PostgreSQL.
func eachModeAndStore(t *testing.T, test func(t *testing.T, d graph.Durability, s checkpoint.Store)) {
	t.Helper()
	eachMode(t, func(t *testing.T, d graph.Durability) {
		for name, open := range stores {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, d, open(t))
			})
		}
		t.Run("postgres", func(t *testing.T) {
			t.Parallel()
			s, err := pgcheckpoint.Open(t.Context(), pgtest.URL(t), pgcheckpoint.Options{Schema: pgtest.Schema(t)})
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			test(t, d, s)
		})
	})
}

// keys collects the idempotency keys of nodes.
type keys struct {
	mu   sync.Mutex
	list []string
}

func (k *keys) add(s string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, s)
}

// take returns the keys that were added since the last call.
func (k *keys) take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := k.list
	k.list = nil
	return out
}

// A logLines collects the lines of a logger.
type logLines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// repeat adds a node that runs n times.
func repeat(b *graph.Builder, name string, n int, fn graph.NodeFunc) {
	b.Node(name, func(ctx context.Context, v state.View) (state.Update, error) {
		u, err := fn(ctx, v)
		return append(slices.Clip(u), total.Put(1)), err
	})
	b.Branch(name, choose(func(v state.View) string {
		if total.Get(v) < n {
			return name
		}
		return graph.End
	}), name, graph.End)
}

// sleep waits for d, or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
