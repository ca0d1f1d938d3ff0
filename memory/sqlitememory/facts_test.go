package sqlitememory_test

import (
	"context"
	"iter"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/memorytest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func open(tb testing.TB, path string, o sqlitememory.Options) *sqlitememory.DB {
	tb.Helper()
	db, err := sqlitememory.Open(context.Background(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

var options = sqlitememory.Options{Synchronous: sqlitememory.Normal}

func TestFacts(t *testing.T) {
	t.Parallel()
	memorytest.RunFacts(t, func(tb testing.TB) memory.Store {
		return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Facts()
	})
}

// turns takes turns between two databases of one file, as two programs would.
type turns struct {
	list []*sqlitememory.Facts
	next atomic.Int64
}

func (s *turns) store() *sqlitememory.Facts { return s.list[s.next.Add(1)%int64(len(s.list))] }

func (s *turns) Apply(ctx context.Context, scope memory.Scope, changes []memory.Change) ([]memory.Applied, error) {
	return s.store().Apply(ctx, scope, changes)
}

func (s *turns) Find(ctx context.Context, q memory.Query) iter.Seq2[memory.Record, error] {
	return s.store().Find(ctx, q)
}

func (s *turns) Search(ctx context.Context, search memory.Search) (memory.Candidates, error) {
	return s.store().Search(ctx, search)
}

func (s *turns) History(ctx context.Context, scope memory.Scope, id string) iter.Seq2[memory.Event, error] {
	return s.store().History(ctx, scope, id)
}

func (s *turns) Forget(ctx context.Context, scope memory.Scope) (int, error) {
	return s.store().Forget(ctx, scope)
}

func (s *turns) Sweep(ctx context.Context, limit int) (int, error) {
	return s.store().Sweep(ctx, limit)
}

func TestFactsOfTwo(t *testing.T) {
	t.Parallel()
	memorytest.RunFacts(t, func(tb testing.TB) memory.Store {
		path := filepath.Join(tb.TempDir(), "memory.db")
		return &turns{list: []*sqlitememory.Facts{open(tb, path, patient).Facts(), open(tb, path, patient).Facts()}}
	})
}

func TestFactsInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunFacts(t, func(tb testing.TB) memory.Store { return open(tb, sqlitememory.Memory, options).Facts() })
}

func BenchmarkFacts(b *testing.B) {
	memorytest.BenchFacts(b, func(tb testing.TB) memory.Store {
		return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Facts()
	})
}
