package limit_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func limited(tb testing.TB, b driver.Backend, o limit.Options) driver.Backend {
	tb.Helper()
	l, err := limit.New(b, o)
	require.NoError(tb, err)
	return l
}

// Limits do not change the results of a store.
func TestLimitedStoresPassTheSuites(t *testing.T) {
	t.Parallel()
	open := func(tb testing.TB) driver.Backend {
		return limited(tb, inmemory.New(inmemory.Options{}), limit.Options{Concurrent: 3, PerTenant: 2})
	}
	t.Run("facts", func(t *testing.T) {
		t.Parallel()
		drivertest.RunFacts(t, func(tb testing.TB) driver.FactStore { return open(tb).Facts() })
	})
	t.Run("values", func(t *testing.T) {
		t.Parallel()
		drivertest.RunValues(t, func(tb testing.TB) driver.ValueStore { return open(tb).Values() })
	})
	t.Run("documents", func(t *testing.T) {
		t.Parallel()
		drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore { return open(tb).Documents() })
	})
	t.Run("conversations", func(t *testing.T) {
		t.Parallel()
		drivertest.RunConversations(t, func(tb testing.TB) driver.ConversationStore { return open(tb).Conversations() })
	})
}

// slow is a store whose searches take a second.
type slow struct {
	driver.FactStore
	inside, most atomic.Int64
}

func (s *slow) Search(ctx context.Context, _ driver.FactSearch) (driver.FactCandidates, error) {
	n := s.inside.Add(1)
	defer s.inside.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	select {
	case <-time.After(time.Second):
		return driver.FactCandidates{}, nil
	case <-ctx.Done():
		return driver.FactCandidates{}, ctx.Err()
	}
}

func search(ctx context.Context, b driver.Backend, tenant string) error {
	q := driver.FactQuery{Reach: driver.Scope{Tenant: tenant}.Only()}
	_, err := b.Facts().Search(ctx, driver.FactSearch{Query: q})
	return err
}

// A tenant with a hundred calls holds two of four places, so that another tenant is served at once.
func TestOneTenantLeavesPlacesToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{}
		b := limited(t, inmemory.Fill(driver.Stores{FactStore: store}), limit.Options{Concurrent: 4, PerTenant: 2})
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() { _ = search(ctx, b, "busy") })
		}
		synctest.Wait()
		assert.EqualValues(t, 2, store.inside.Load())
		begin := time.Now()
		assert.NoError(t, search(t.Context(), b, "quiet"))
		assert.Equal(t, time.Second, time.Since(begin))
		assert.EqualValues(t, 3, store.most.Load())
		cancel()
		calls.Wait()
		assert.NoError(t, search(t.Context(), b, "busy"), "the places are free again")
	})
}

// The calls of all tenants together do not exceed Concurrent.
func TestAllTenantsShareTheBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{}
		b := limited(t, inmemory.Fill(driver.Stores{FactStore: store}), limit.Options{Concurrent: 3})
		var calls sync.WaitGroup
		for i := range 12 {
			calls.Go(func() { assert.NoError(t, search(t.Context(), b, fmt.Sprint(i))) })
		}
		begin := time.Now()
		calls.Wait()
		assert.EqualValues(t, 3, store.most.Load())
		assert.Equal(t, 4*time.Second, time.Since(begin))
	})
}

// If too many calls of a tenant are waiting, a further call returns ErrBusy at once.
func TestTooManyWaitingCallsAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limited(t, inmemory.Fill(driver.Stores{FactStore: &slow{}}), limit.Options{PerTenant: 1, Waiting: 2})
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() { assert.NoError(t, search(t.Context(), b, "acme")) })
			synctest.Wait()
		}
		err := search(t.Context(), b, "acme")
		assert.ErrorIs(t, err, driver.ErrBusy)
		assert.ErrorContains(t, err, "acme")
		assert.NoError(t, search(t.Context(), b, "other"))
		calls.Wait()
	})
}

// Rate limits the number of calls per second, including listings. A call whose deadline is too early
// returns an error at once.
func TestRateOfATenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limited(t, inmemory.New(inmemory.Options{}), limit.Options{Rate: 10, Burst: 2})
		begin := time.Now()
		for range 12 {
			assert.NoError(t, search(t.Context(), b, "acme"))
		}
		assert.Equal(t, time.Second, time.Since(begin).Round(time.Millisecond))
		for _, err := range b.Values().Find(t.Context(), driver.Scope{Tenant: "acme"}, driver.ValueSelection{}) {
			assert.NoError(t, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := search(ctx, b, "acme")
		assert.ErrorIs(t, err, driver.ErrBusy)
		assert.Less(t, time.Since(begin), 1200*time.Millisecond)
	})
}

// A caller of a listing may make other calls of the tenant within its loop.
func TestListingsHoldNoPlace(t *testing.T) {
	t.Parallel()
	b := limited(t, inmemory.New(inmemory.Options{}), limit.Options{Concurrent: 1, PerTenant: 1})
	s := driver.Scope{Tenant: "acme"}
	_, err := b.Values().Apply(t.Context(), s, []driver.ValueWrite{{Address: driver.Address{Namespace: []string{"n"}, Key: "k"}, Value: []byte(`1`)}})
	require.NoError(t, err)
	n := 0
	for item, err := range b.Values().Find(t.Context(), s, driver.ValueSelection{}) {
		require.NoError(t, err)
		_, err = b.Values().Apply(t.Context(), s, []driver.ValueWrite{{Address: item.Address, Value: []byte(`2`)}})
		require.NoError(t, err)
		n++
	}
	assert.Equal(t, 1, n)
}

func TestLimitsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, o := range []limit.Options{{Concurrent: -1}, {PerTenant: -1}, {Rate: -1}, {Burst: -1}, {Waiting: -1}} {
		_, err := limit.New(inmemory.New(inmemory.Options{}), o)
		require.ErrorIs(t, err, driver.ErrInvalid, "%+v", o)
	}
}
