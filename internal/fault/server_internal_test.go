//go:build unix

package fault

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newStopped returns a server that has not been started.
func newStopped(t *testing.T) *Server {
	t.Helper()
	programs, err := Programs(t.Context(), filepath.Join("..", "..", "scripts", "postgres"))
	require.NoError(t, err)
	s, err := NewServer(t.Context(), "", programs)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(), "close") })
	return s
}

func TestFirstStartChoosesAnotherPortIfThePortIsTaken(t *testing.T) {
	t.Parallel()
	s := newStopped(t)
	l, err := net.Listen("tcp", s.Addr())
	require.NoError(t, err)
	defer func() { assert.NoError(t, l.Close()) }()
	taken := s.Addr()
	require.NoError(t, s.Start(t.Context()))
	assert.NotEqual(t, taken, s.Addr())
}

func TestServerDoesNotTakeAnotherServerForItself(t *testing.T) {
	t.Parallel()
	first, second := newStopped(t), newStopped(t)
	require.NoError(t, first.Start(t.Context()))
	require.NoError(t, second.Start(t.Context()))
	require.NoError(t, second.Stop(Fast))
	second.port = first.port
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	require.ErrorIs(t, second.Start(ctx), context.DeadlineExceeded)
	require.Contains(t, second.Log(), "Address already in use")
}
