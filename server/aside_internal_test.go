package server

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACallThatEndsItsGoroutineIsNotAwaitedForEver(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, aside(func() error {
		runtime.Goexit()
		return nil
	}), errExited)
	require.ErrorIs(t, aside(func() error { panic("a bug") }), errPanic)
	require.NoError(t, aside(func() error { return nil }))
}
