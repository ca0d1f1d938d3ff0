package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// If the rollback of a run fails, each waiting run that requested the rollback gets the error, and not
// only the first in the line.
func TestFailedRollbackIsToldToEachRunThatWaits(t *testing.T) {
	t.Parallel()
	key := threadKey{thread: t.Name()}
	cause := errors.New("the store cannot delete the run")
	holds := func() *holder {
		rc := &runContext{}
		rc.begin(t.Context(), false)
		t.Cleanup(rc.close)
		return &holder{ctx: rc, policy: Rollback}
	}
	first := holds()
	require.True(t, claim(key, first))
	failed := make(chan error)
	for range 2 {
		h := holds()
		require.False(t, h.join(key))
		go func() { failed <- h.hasTurn(t.Context(), key) }()
	}
	gone := holds()
	require.False(t, gone.join(key))
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, gone.hasTurn(ended, key), context.Canceled)

	first.rollback = cause
	unclaim(key, first)
	require.ErrorIs(t, <-failed, cause)
	require.ErrorIs(t, <-failed, cause)
	require.True(t, claim(key, holds()), "the thread is free")
}
