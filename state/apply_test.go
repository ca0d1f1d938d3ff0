package state_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/state"
)

// Apply returns the same state as one task with the writes. It does not change earlier states or the values
// that were read from them, although lists share memory.
func TestApplyLeavesEarlierStatesUnchanged(t *testing.T) {
	t.Parallel()
	texts, last, sum := state.Append[string]("texts"), state.Last[string]("last"), state.Sum[int]("sum")
	channels := []state.Handle{texts, last, sum}
	base, err := state.NewView(channels, texts.Put("a", "b", "c"), last.Put("x"))
	require.NoError(t, err)
	base, err = state.Apply(base, texts.Put("d")) // room for more elements
	require.NoError(t, err)
	one, err := state.Apply(base, texts.Put("one"), sum.Put(1), sum.Put(2))
	require.NoError(t, err)
	two, err := state.Apply(base, texts.Put("two"), last.Put("y"))
	require.NoError(t, err)
	more, err := state.Apply(one, texts.Put("more"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c", "d"}, texts.Get(base))
	assert.Equal(t, []string{"a", "b", "c", "d", "one"}, texts.Get(one))
	assert.Equal(t, []string{"a", "b", "c", "d", "two"}, texts.Get(two))
	assert.Equal(t, []string{"a", "b", "c", "d", "one", "more"}, texts.Get(more))
	assert.Equal(t, 3, sum.Get(more))
	assert.Equal(t, "x", last.Get(more))
	assert.Equal(t, "y", last.Get(two))
}

// NewView accepts the update of a task with writes to internal channels, which code outside of the graph does not have.
func TestNewViewLeavesOutInternalChannelsThatItLacks(t *testing.T) {
	t.Parallel()
	answer, progress := state.Last[string]("answer"), state.Last[int]("progress").Internal()
	writes := []state.Write{progress.Put(1), answer.Put("yes")}
	v, err := state.NewView([]state.Handle{answer}, writes...)
	require.NoError(t, err)
	assert.Equal(t, "yes", answer.Get(v))
	v, err = state.NewView([]state.Handle{answer, progress}, writes...)
	require.NoError(t, err)
	assert.Equal(t, 1, progress.Get(v))
	_, err = state.NewView([]state.Handle{answer}, state.Last[int]("other").Put(1))
	require.ErrorIs(t, err, state.ErrUnknownChannel)
}

// An error of Apply is a ChannelError that names the channel.
func TestApplyNamesTheChannelOfAnError(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	few := state.NewChannel("few", func(current, update int) (int, error) {
		if current+update > 2 {
			return current, full
		}
		return current + update, nil
	})
	v, err := state.NewView([]state.Handle{few}, few.Put(2))
	require.NoError(t, err)
	for channel, c := range map[string]struct {
		write state.Write
		is    error
	}{
		"few":   {few.Put(1), full},
		"other": {state.Last[int]("other").Put(1), state.ErrUnknownChannel},
	} {
		_, err := state.Apply(v, c.write)
		require.ErrorIs(t, err, c.is)
		var ce *state.ChannelError
		require.ErrorAs(t, err, &ce)
		assert.Equal(t, channel, ce.Channel)
	}
}
