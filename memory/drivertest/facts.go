package drivertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// RunFacts checks the stores that open returns. Each call of open must return a new, empty store, and close
// it with tb.Cleanup. Several tests call open at the same time.
func RunFacts(t *testing.T, open func(tb testing.TB) driver.FactStore) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed: %d", seed)
	groups := map[string][]factCase{}
	var order []string
	for _, c := range factCases() {
		group, _, _ := strings.Cut(c.name, "/")
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], c)
	}
	for _, group := range order {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for _, c := range groups[group] {
				_, name, _ := strings.Cut(c.name, "/")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					c.check(t, open, seed)
				})
			}
		})
	}
}

// A factCase tests one promise.
type factCase struct {
	name    string // group/case
	promise string
	run     func(k *kit)
}

// check runs the case. tb is a test, or a replacement when the suite itself is tested.
func (c factCase) check(tb testing.TB, open func(tb testing.TB) driver.FactStore, seed uint64) {
	tb.Helper()
	play(tb, c.promise, 30*time.Minute, open, func(ctx context.Context, store driver.FactStore) {
		c.run(&kit{TB: tb, ctx: ctx, store: store, open: open, seed: seed})
	})
}

func factCases() []factCase {
	return slices.Concat(
		applyCases, changeCases, closeCases, versionCases, jobCases, foreignCases, dedupeCases, extendCases, supersedeCases, scopeCases, filterCases,
		conditionCases, orderCases, searchCases, vectorCases, historyCases, eraseCases, forgetCases, sweepCases, contextCases, textCases,
		modelCases, embedderCases,
	)
}
