package memory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/memory"
)

// busy is a store that takes a second for a search, and counts how many there are at once.
type busy struct {
	*memory.InMemory
	mu        sync.Mutex
	now, most map[string]int
}

func (b *busy) Search(ctx context.Context, s memory.Search) (memory.Candidates, error) {
	tenant := s.Query.Scope.Tenant
	b.mu.Lock()
	b.now[tenant]++
	b.most[tenant] = max(b.most[tenant], b.now[tenant])
	b.mu.Unlock()
	<-time.After(time.Second)
	b.mu.Lock()
	b.now[tenant]--
	b.mu.Unlock()
	return b.InMemory.Search(ctx, s)
}

// A tenant that asks for much waits for itself, and for nobody else.
func TestPerTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &busy{InMemory: memory.NewInMemory(memory.InMemoryOptions{}), now: map[string]int{}, most: map[string]int{}}
		m, err := memory.New(store, memory.Options{PerTenant: 2})
		if err != nil {
			t.Fatal(err)
		}
		recall := func(ctx context.Context, tenant string) error {
			_, err := m.Recall(ctx, memory.Recall{Query: memory.Query{Scope: memory.Scope{Tenant: tenant}}, Text: "tea"})
			return err
		}
		began := time.Now()
		var loud, quiet sync.WaitGroup
		for range 20 {
			loud.Go(func() {
				if err := recall(t.Context(), "loud"); err != nil {
					t.Error(err)
				}
			})
		}
		quiet.Go(func() {
			if err := recall(t.Context(), "quiet"); err != nil || time.Since(began) != time.Second {
				t.Errorf("the other waited %v, %v", time.Since(began), err)
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second/2)
		defer cancel()
		quiet.Wait()
		if err := recall(ctx, "loud"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 3*time.Second/2 {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		loud.Wait()
		if time.Since(began) != 10*time.Second || store.most["loud"] != 2 {
			t.Errorf("it took %v with %d at once, want 10 s with 2", time.Since(began), store.most["loud"])
		}
		if _, err := m.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if _, err := memory.New(memory.NewInMemory(memory.InMemoryOptions{}), memory.Options{PerTenant: -1}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
