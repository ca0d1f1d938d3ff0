package extract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
)

func TestInProcess(t *testing.T) {
	t.Parallel()
	drivertest.RunTurns(t, func(testing.TB) driver.TurnStore { return inmemory.NewTurns() })
}

func TestInProcessForgetsWaitingClaimedAndParkedJobs(t *testing.T) {
	t.Parallel()
	ctx, before := t.Context(), time.Now()
	q := inmemory.NewTurns()
	ann, elsewhere, bob := memory.Scope{Tenant: "acme", User: "ann"}, memory.Scope{Tenant: "acme", Workspace: "w", User: "ann"}, memory.Scope{Tenant: "acme", User: "bob"}
	for _, j := range []extract.Job{{Key: "parked", Scope: ann}, {Key: "claimed", Scope: elsewhere}, {Key: "waits", Scope: ann}, {Key: "bob's", Scope: bob}} {
		require.NoError(t, q.Enqueue(ctx, j))
	}
	claimed, err := q.Claim(ctx, 2, time.Minute)
	require.NoError(t, err)
	require.Len(t, claimed, 2)
	require.NoError(t, q.Retry(ctx, claimed[0], -1, "hopeless"))
	n, err := q.Forget(ctx, ann)
	require.NoError(t, err)
	assert.Equal(t, 3, n, "forgotten jobs")
	assert.ErrorIs(t, q.Finish(ctx, claimed[1]), memory.ErrConflict, "a forgotten job")
	c, err := q.Count(ctx)
	require.NoError(t, err)
	assert.Equal(t, extract.Counts{Pending: 1}, c, "Bob's job only")
	for _, j := range []extract.Job{{Key: "late", Scope: elsewhere, Said: before}, {Key: "later", Scope: ann, Said: time.Now()}} {
		require.NoError(t, q.Enqueue(ctx, j))
	}
	c, err = q.Count(ctx)
	require.NoError(t, err)
	assert.Equal(t, extract.Counts{Pending: 2}, c, "Bob's job and the turn after the call")
	_, err = q.Forget(ctx, memory.Scope{})
	assert.ErrorIs(t, err, memory.ErrInvalid)
}
