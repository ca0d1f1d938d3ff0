package server

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func limitsOf(l Limits) Limits {
	l.setDefaults()
	return l
}

func TestRequestsOfAUserAreLimitedAndAllowedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(limitsOf(Limits{Requests: 2}))
		for range 4 {
			require.NoError(t, a.request("ann"))
		}
		err := a.request("ann")
		require.Error(t, err)
		assert.Equal(t, http.StatusTooManyRequests, err.(*Refusal).Status) //nolint:errorlint,forcetypeassert // a test
		assert.Equal(t, 500*time.Millisecond, err.(*Refusal).RetryAfter)   //nolint:errorlint,forcetypeassert // a test
		require.NoError(t, a.request("bob"), "another user is served")
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, a.request("ann"))
		require.Error(t, a.request("ann"))
	})
}

// The table of users loses users that use nothing and have sent no request in the last seconds, so that its size is
// bounded.
func TestTheTableOfUsersIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAccounts(limitsOf(Limits{}))
		end, err := a.stream("ann", true)
		require.NoError(t, err)
		require.NoError(t, a.take("bob", 0, true))
		most := 0
		for i := range 100_000 {
			require.NoError(t, a.request(fmt.Sprint("user ", i)))
			most = max(most, len(a.users))
			time.Sleep(time.Millisecond)
		}
		assert.LessOrEqual(t, most, 2*minSweep)
		assert.Equal(t, 1, a.users["ann"].streams)
		assert.Equal(t, 1, a.users["bob"].runs)
		end()
		a.give("bob", 0)
		assert.Zero(t, a.openStreams())
		assert.Zero(t, a.users["bob"].runs)
	})
}

func TestStreamsAndRunsOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	a := newAccounts(limitsOf(Limits{UserStreams: 1, Streams: 2, UserRuns: 1}))
	end, err := a.stream("ann", true)
	require.NoError(t, err)
	_, err = a.stream("ann", true)
	require.ErrorContains(t, err, "The user has 1 open streams")
	_, err = a.stream("ann", false)
	require.NoError(t, err, "without authentication only the limit of all streams applies")
	_, err = a.stream("bob", true)
	require.ErrorContains(t, err, "as many open streams")
	end()
	_, err = a.stream("bob", true)
	require.NoError(t, err)
	require.NoError(t, a.take("ann", 0, true))
	require.ErrorContains(t, a.take("ann", 0, true), "The user has 1 runs that have not ended")
	require.NoError(t, a.take("ann", 0, false), "a run that another server accepted is continued")
	require.Error(t, a.room("ann", 1))
	require.NoError(t, a.room("bob", 1))
	require.Error(t, a.room("bob", 2))
}
