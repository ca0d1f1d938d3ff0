package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// explode panics. Tests look for its name in the stack of the panic.
func explode(value any) { panic(value) }

// TestRecoverHandlesFailuresAndPanics proves that the handler receives the failure of
// the last attempt or the panic with its stack, and that its result is the node's.
func TestRecoverHandlesFailuresAndPanics(t *testing.T) {
	t.Parallel()
	handle := func(_ context.Context, v state.View, err error) (state.Update, error) {
		if note.Get(v) == "handler fails" {
			return nil, fmt.Errorf("handled: %w", err)
		}
		var panicked *graph.PanicError
		if errors.As(err, &panicked) {
			assert.Contains(t, string(panicked.Stack), "explode")
			return state.Update{trail.Put(fmt.Sprint("panic ", panicked.Value))}, nil
		}
		return state.Update{trail.Put(err.Error())}, nil
	}
	for input, c := range map[string]struct {
		trail string
		runs  int
	}{
		"ok":            {"ok", 1},
		"fail":          {"broken", 2},
		"panic":         {"panic boom", 1},
		"handler fails": {"", 2},
	} {
		t.Run(input, func(t *testing.T) {
			t.Parallel()
			runs := 0
			g := single(t, node.Recover(handle, node.Retry(node.RetryPolicy{Attempts: 2, Initial: -1}, func(_ context.Context, v state.View) (state.Update, error) {
				runs++
				switch note.Get(v) {
				case "panic":
					explode("boom")
				case "ok":
					return state.Update{trail.Put("ok")}, nil
				}
				return nil, errBroken
			})))
			snap, err := g.Invoke(t.Context(), note.Put(input))
			assert.Equal(t, c.runs, runs)
			if c.trail == "" {
				require.ErrorIs(t, err, errBroken)
				require.ErrorContains(t, err, "handled: ")
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{c.trail}, trail.Get(snap))
		})
	}
}

// TestRecoverDoesNotHandleEndOfContext proves that the handler is not called after the
// context of the run has ended.
func TestRecoverDoesNotHandleEndOfContext(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, state.View, error) (state.Update, error) {
		assert.Fail(t, "the handler ran")
		return nil, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := single(t, node.Recover(handle, func(context.Context, state.View) (state.Update, error) {
		cancel()
		return nil, errBroken
	})).Invoke(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
