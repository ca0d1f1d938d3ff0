package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The context for the store ends one grace period after the context of the caller, with the
// cause of the caller, whatever method a store uses to wait for the end.
func TestStoreContextEndsAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		wait func(ctx context.Context)
	}{
		{"Done", func(ctx context.Context) { <-ctx.Done() }},
		{"Err", func(ctx context.Context) {
			for ctx.Err() == nil {
				time.Sleep(100 * time.Microsecond) // only a call of Err detects the end of the caller and the end of the grace period
			}
		}},
		{"a derived context", func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			<-ctx.Done()
		}},
		{"AfterFunc", func(ctx context.Context) {
			ended := make(chan struct{})
			context.AfterFunc(ctx, func() { close(ended) })
			<-ended
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				caller, cancel := context.WithCancelCause(t.Context())
				rc := beganContext(caller, true)
				defer rc.close()
				cause := errors.New("the user left")
				began := time.Now()
				time.AfterFunc(time.Second, func() { cancel(cause) })

				tt.wait(&rc.store)
				assert.InDelta(t, time.Second+grace, time.Since(began), float64(time.Millisecond))
				require.ErrorIs(t, rc.store.Err(), context.Canceled)
				assert.Equal(t, cause, context.Cause(&rc.store))
			})
		})
	}
}

// The context of the nodes ends with the context of the caller, whether Done is called
// before or after that end.
func TestRunContextEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	for _, stores := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			caller, cancel := context.WithCancel(t.Context())
			asked, later := beganContext(caller, stores), beganContext(caller, stores)
			defer asked.close()
			defer later.close()
			done := asked.Done()
			synctest.Wait()
			require.NoError(t, asked.Err())

			cancel()
			<-done
			<-later.Done()
			require.ErrorIs(t, asked.Err(), context.Canceled)
			require.ErrorIs(t, later.Err(), context.Canceled)
		})
	}
}

// A goroutine that outlives its run sees that the context of the nodes has ended.
func TestRunContextEndsWithItsRun(t *testing.T) {
	t.Parallel()
	rc := beganContext(t.Context(), false)
	require.NoError(t, rc.Err())
	rc.close()
	<-rc.Done()
	require.ErrorIs(t, rc.Err(), context.Canceled)
}

// A run that its caller has cancelled keeps this cause if another run supersedes it afterwards, even
// if nothing has called a method of the context in between.
func TestCancelledRunIsNotSuperseded(t *testing.T) {
	t.Parallel()
	caller, cancel := context.WithCancelCause(t.Context())
	rc := beganContext(caller, true)
	defer rc.close()
	cause := errors.New("the user left")
	cancel(cause)

	rc.supersede(false)
	assert.Equal(t, cause, rc.cause())
	_, err := rc.finish()
	require.NoError(t, err)
}

func beganContext(caller context.Context, stores bool) *runContext {
	c := &runContext{}
	c.begin(caller, stores)
	return c
}
