package checkpointtest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// A Harness is what the suite needs to know of a store. Only Open is required.
type Harness struct {
	// Open returns a new, empty store, and leaves closing it to tb.Cleanup. It
	// is called by several tests at once.
	Open func(tb testing.TB) checkpoint.Store

	// Reopen closes the store and opens what it stored anew. Nil means that
	// the data ends with the store.
	Reopen func(tb testing.TB, store checkpoint.Store) checkpoint.Store

	// Corrupt flips one bit of the byte at the offset of what the store holds
	// of the checkpoint's values: its changes, snapshot and Control and the data
	// of its pending writes, one after the other, as they are stored. It returns
	// false when they have no such byte. Flipping a bit twice restores it. Nil
	// means that stored data can not be reached.
	Corrupt func(tb testing.TB, store checkpoint.Store, k checkpoint.Key, offset int) bool

	// MaxValue is the most bytes that one value may hold in the stores that
	// Open returns. Zero means [checkpoint.DefaultMaxValue], and a negative
	// number no limit. A small one, of 32 KB or more, makes the suite quicker.
	MaxValue int

	// Seed repeats the random cases of an earlier run, which logged it. Zero
	// means another one each time.
	Seed uint64
}

// Run checks every promise of the stores that open returns.
func Run(t *testing.T, open func(tb testing.TB) checkpoint.Store) {
	t.Helper()
	Harness{Open: open}.Run(t)
}

// Run checks every promise of the harness's stores.
func (h Harness) Run(t *testing.T) {
	t.Helper()
	if h.MaxValue == 0 {
		h.MaxValue = checkpoint.DefaultMaxValue
	}
	if h.Seed == 0 {
		h.Seed = rand.Uint64()
	}
	has := h.powers(t)
	t.Logf("powers: %s; seed: %d", cmp.Or(strings.Join(has, ", "), "none"), h.Seed)
	groups := map[string][]testCase{}
	var order []string
	for _, c := range allCases() {
		if c.needs != "" && !slices.Contains(has, c.needs) {
			continue
		}
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
				h.runCase(t, c)
			}
		})
	}
}

func (h Harness) runCase(t *testing.T, c testCase) {
	_, name, _ := strings.Cut(c.name, "/")
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		h.check(t, c)
	})
}

// check runs one case; tb is a test, or what stands for one when the suite
// itself is tested.
func (h Harness) check(tb testing.TB, c testCase) {
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("broken promise: %s", c.promise)
		}
	})
	c.run(newKit(tb, h))
}

// A testCase checks one promise.
type testCase struct {
	name    string // group/case
	promise string
	needs   string // the power or the hook without which it does not apply
	run     func(k *kit)
}

func allCases() []testCase {
	return slices.Concat(
		putCases, writeCases, getCases, listCases, deleteCases,
		runCases, copyCases, pruneCases, lineageCases, forkCases,
		concurrencyCases, atomicityCases, limitCases, nameCases,
		leaseCases, threadCases, durableCases, modelCases,
	)
}
