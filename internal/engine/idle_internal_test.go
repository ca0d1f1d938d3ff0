package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A heartbeat while Emit waits resets the idle time. The rest of the wait does not count as idle time.
func TestHeartbeatWhileEmitWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var expired time.Duration
		ctx, stop := WatchIdle(t.Context(), 10*time.Second, false, func() { expired = time.Since(began) })
		defer stop()
		resume := suspendIdle(ctx)
		time.Sleep(5 * time.Second)
		Beat(ctx)
		time.Sleep(5 * time.Second)
		resume()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 20*time.Second, expired, "10 s after the wait, which began before the heartbeat")
	})
}

// A watch that was stopped during a wait does not expire after the wait.
func TestStoppedWatchStaysStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := WatchIdle(t.Context(), 10*time.Second, false, func() { t.Error("the watch expired") })
		resume := suspendIdle(ctx)
		stop()
		resume()
		Beat(ctx)
		time.Sleep(time.Minute)
	})
}
