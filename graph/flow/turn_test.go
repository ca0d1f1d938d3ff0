package flow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
)

// Previous returns the value that the previous turn saved, or its output if it saved none.
func TestPreviousIsSavedApartFromTheOutput(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		f, err := flow.New("job", func(ctx context.Context, in string) (string, error) {
			previous, err := flow.Previous[any](ctx)
			if err != nil {
				return "", err
			}
			if in == "fail" {
				return "", errors.Join(flow.Save(ctx, "lost"), errors.New("failure"))
			}
			if in != "" {
				err = errors.Join(flow.Save(ctx, "first"), flow.Save(ctx, map[string]any{"saved": in}))
			}
			return fmt.Sprint(previous), err
		}, graph.Options{Checkpoints: store})
		require.NoError(t, err)
		for i, turn := range []struct{ in, want string }{
			{"", "<nil>"}, {"a", "<nil>"}, {"", "map[saved:a]"}, {"", "map[saved:a]"}, {"fail", ""}, {"", "map[saved:a]"},
		} {
			snap, err := f.Thread("1").Invoke(t.Context(), f.Input(turn.in))
			if turn.in == "fail" {
				require.ErrorContains(t, err, "failure")
				continue
			}
			require.NoError(t, err)
			assert.Equal(t, turn.want, f.Output(snap), "turn %d", i)
		}
		_, err = flow.New("job", func(ctx context.Context, _ string) (string, error) {
			_, err := flow.Previous[int](ctx)
			return "", err
		}, graph.Options{Checkpoints: store})
		require.NoError(t, err)
	})
}

func TestPreviousOfAnotherTypeIsAnError(t *testing.T) {
	t.Parallel()
	f, err := flow.New("job", func(ctx context.Context, n int) (string, error) {
		if n == 0 {
			return "text", nil
		}
		_, err := flow.Previous[int](ctx)
		return "", err
	}, options())
	require.NoError(t, err)
	_, err = f.Thread("1").Invoke(t.Context(), f.Input(0))
	require.NoError(t, err)
	_, err = f.Thread("1").Invoke(t.Context(), f.Input(1))
	require.ErrorContains(t, err, "the value of the previous turn")
}

// A new turn runs every task again, even after a pause. A fork runs the tasks of its turn again.
func TestNewTurnRunsItsTasksAgain(t *testing.T) {
	t.Parallel()
	runs := 0
	f, err := flow.New("job", func(ctx context.Context, n int) (int, error) {
		m, err := flow.Do(ctx, "task", func(context.Context) (int, error) {
			runs++
			return n, nil
		})
		if err != nil || n > 2 {
			return m, err
		}
		answer, err := ask.Wait(ctx, "?")
		return m + answer, err
	}, options())
	require.NoError(t, err)
	thread := f.Thread("1")
	for n := 1; n <= 3; n++ {
		snap, err := thread.Invoke(t.Context(), f.Input(n))
		require.NoError(t, err)
		assert.Equal(t, n == 3, snap.Done())
		assert.Equal(t, n, runs)
	}
	var second string
	for info, err := range thread.History(t.Context(), graph.HistoryQuery{}) {
		require.NoError(t, err)
		if info.Source == checkpoint.Input && second == "" {
			second = info.ID
		}
	}
	snap, err := thread.At(second).Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, f.Output(snap))
	assert.Equal(t, 4, runs)
}

func TestInputOfAnotherTypeNamesItsChannel(t *testing.T) {
	t.Parallel()
	o := options()
	old, err := flow.New("job", func(ctx context.Context, _ string) (int, error) { return ask.Wait(ctx, "?") }, o)
	require.NoError(t, err)
	_, err = old.Thread("1").Invoke(t.Context(), old.Input("text"))
	require.NoError(t, err)
	changed, err := flow.New("job", func(ctx context.Context, _ int) (int, error) { return ask.Wait(ctx, "?") }, o)
	require.NoError(t, err)
	_, err = changed.Thread("1").Invoke(t.Context())
	require.ErrorContains(t, err, `channel "input"`)
}
