package checkpointtest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/suitetest"
)

// A Harness gives the suite access to the store under test. Only Open is required.
type Harness struct {
	// Open returns a new, empty store, and closes it in tb.Cleanup. The suite
	// calls Open from several goroutines.
	Open func(tb testing.TB) checkpoint.Store

	// Reopen closes the store and opens its data again. Nil means that the data
	// does not outlive the store.
	Reopen func(tb testing.TB, store checkpoint.Store) checkpoint.Store

	// Corrupt flips one bit of the byte at the offset in the stored values of the
	// checkpoint: its changes, snapshot and Control and the data of its pending
	// writes, one after the other, in their stored form. It returns false when
	// the offset is beyond the last byte. A second call with the same offset
	// restores the byte. Nil means that tests cannot reach stored data.
	Corrupt func(tb testing.TB, store checkpoint.Store, k checkpoint.Key, offset int) bool

	// MaxValue is the maximum number of bytes in one value of the stores that
	// Open returns. Zero means [checkpoint.DefaultMaxValue], and a negative
	// number means no limit. The suite needs 32 KB or more, and is faster with a
	// small limit.
	MaxValue int

	// Seed is the seed of the random cases. The suite logs the seed that it
	// used. Zero means a random seed.
	Seed uint64
}

// Run runs the suite with the stores that open returns.
func Run(t *testing.T, open func(tb testing.TB) checkpoint.Store) {
	t.Helper()
	Harness{Open: open}.Run(t)
}

// Run runs the suite.
func (h Harness) Run(t *testing.T) {
	t.Helper()
	if h.MaxValue == 0 {
		h.MaxValue = checkpoint.DefaultMaxValue
	}
	if h.Seed == 0 {
		h.Seed = rand.Uint64()
	}
	has := h.features(t)
	t.Logf("left out, because the store or the harness lacks it: %s; seed: %d", cmp.Or(strings.Join(without(has), ", "), "nothing"), h.Seed)
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

// open returns a new store.
func (h Harness) open(tb testing.TB) checkpoint.Store {
	tb.Helper()
	return suitetest.Opened(tb, "store", h.Open(tb))
}

func (h Harness) runCase(t *testing.T, c testCase) {
	_, name, _ := strings.Cut(c.name, "/")
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		h.check(t, c)
	})
}

// caseLimit is the time after which the context of a case ends. A case that has not ended by then fails.
const caseLimit = 2 * time.Minute

// check runs one case. tb is a test, or a recorder in the tests of the suite.
func (h Harness) check(tb testing.TB, c testCase) {
	tb.Helper()
	suitetest.Run(tb, c.promise, caseLimit, func() { c.run(newFixture(tb, h)) })
}

// A testCase checks one promise.
type testCase struct {
	name    string // group/case
	promise string
	needs   string // the optional interface or the field of Harness that the case requires, if any
	run     func(f *fixture)
}

func allCases() []testCase {
	return slices.Concat(
		putCases, writeCases, getCases, listCases, deleteCases,
		runCases, copyCases, pruneCases, lineageCases, forkCases,
		concurrencyCases, atomicityCases, limitCases, nameCases,
		leaseCases, threadCases, statusCases, idleCases, durableCases, modelCases,
	)
}
