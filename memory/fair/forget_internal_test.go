package fair

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Nothing is kept of tenants that have gone, and no timer runs for them.
func TestForgetsTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Options{Concurrent: 4, PerTenant: 1, Share: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		call := func(tenant string, takes time.Duration) {
			leave, err := g.Enter(t.Context(), tenant)
			if err != nil {
				t.Error(err)
				return
			}
			<-time.After(takes)
			leave()
		}
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { call(fmt.Sprint("tenant ", i), time.Millisecond) })
		}
		wg.Wait()
		call("in debt", time.Second)
		g.mu.Lock()
		defer g.mu.Unlock()
		if n := len(g.tenants); n != 101 {
			t.Errorf("%d tenants are known, want all that were just there", n)
		}
		wait := func(d time.Duration) {
			g.mu.Unlock()
			<-time.After(d)
			synctest.Wait()
			g.mu.Lock()
		}
		wait(3 * time.Second)
		if len(g.tenants) != 1 || g.tenants["in debt"] == nil {
			t.Errorf("%d tenants are known, want the one whose share has not made up for its call", len(g.tenants))
		}
		wait(8 * time.Second)
		if len(g.tenants) != 0 || len(g.queues) != 0 || !g.wake.IsZero() || g.timer.Stop() {
			t.Errorf("%d tenants are known, the timer is due at %v", len(g.tenants), g.wake)
		}
	})
}
