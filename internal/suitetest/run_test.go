package suitetest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/suitetest"
)

func TestRunReportsEachWayToFail(t *testing.T) {
	t.Parallel()
	var none []int
	for name, c := range map[string]struct {
		check func(tb testing.TB)
		want  string
	}{
		"succeeds": {func(testing.TB) {}, ""},
		"fails":    {func(tb testing.TB) { tb.Errorf("no %s", "rows") }, "no rows"},
		"ends":     {func(tb testing.TB) { tb.Fatal("no", "store") }, "no store"},
		"panics":   {func(testing.TB) { _ = none[0] }, "the case panicked: runtime error: index out of range [0] with length 0\ngoroutine "},
		"opened":   {func(tb testing.TB) { _ = suitetest.Opened[error](tb, "store", nil) }, "the suite got no store: the function that the test passes to the suite returned nil"},
		"pointer": {func(tb testing.TB) {
			_ = suitetest.Opened[error](tb, "store", (*nothing)(nil))
		}, "the suite got no store: the function that the test passes to the suite returned nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failures := suitetest.Record(func(tb testing.TB) {
				suitetest.Run(tb, "a promise", time.Hour, func() { c.check(tb) })
			})
			if c.want == "" {
				assert.Empty(t, failures)
				return
			}
			require.Len(t, failures, 1)
			assert.Contains(t, failures[0], c.want)
		})
	}
}

func TestRunEndsAWaitingCaseAndShowsWhereItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		failures := suitetest.Record(func(tb testing.TB) {
			suitetest.Run(tb, "a promise", time.Minute, func() { waitForever(release) })
		})
		require.Len(t, failures, 1)
		assert.Contains(t, failures[0], "the case did not end within 1m0s")
		assert.Contains(t, failures[0], "waitForever")
	})
}

func waitForever(release chan struct{}) { <-release }

func TestRecoveredReturnsErrorsAndPanics(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	require.ErrorIs(t, suitetest.Recovered(func() error { return broken }), broken)
	require.NoError(t, suitetest.Recovered(func() error { return nil }))
	require.ErrorContains(t, suitetest.Recovered(func() error { panic("at sea") }), "the case panicked: at sea")
}

type nothing struct{}

func (*nothing) Error() string { return "" }
