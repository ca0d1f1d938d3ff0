package state_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// schemaOf returns a schema of the channels. It fails the test if a channel is invalid.
func schemaOf(tb testing.TB, channels ...state.Handle) *statecore.Schema {
	tb.Helper()
	s, err := statecore.NewSchema[state.Handle](channels...)
	require.NoError(tb, err)
	return s
}

// commit applies the writes of one task, as an edit from outside of a run does.
func commit(tb testing.TB, s *statecore.Schema, v state.View, writes ...state.Write) state.View {
	tb.Helper()
	next, err := step(s, v, false, writes)
	require.NoError(tb, err)
	return next
}

// step applies the writes of tasks 0, 1, … and returns the new state. The argument superstep
// is true for a superstep and false for an edit.
func step(s *statecore.Schema, v state.View, superstep bool, tasks ...[]state.Write) (state.View, error) {
	tx := s.Begin(v)
	for task, writes := range tasks {
		for _, w := range writes {
			if err := statecore.Apply(tx, task, []state.Write{w}); err != nil {
				return nil, err
			}
		}
	}
	return tx.Finish(superstep)
}

// change is a stored change: the arguments of one call of an Emit.
type change struct {
	channel string
	kind    statecore.Kind
	data    string
}

// changes applies the writes of one task. It returns the new state and the stored
// changes.
func changes(tb testing.TB, s *statecore.Schema, v state.View, writes ...state.Write) (state.View, []change) {
	tb.Helper()
	next, stored, err := tryChanges(s, v, writes...)
	require.NoError(tb, err)
	return next, stored
}

func tryChanges(s *statecore.Schema, v state.View, writes ...state.Write) (state.View, []change, error) {
	tx := s.Begin(v)
	for _, w := range writes {
		if err := statecore.Apply(tx, 0, []state.Write{w}); err != nil {
			return nil, nil, err
		}
	}
	next, err := tx.Finish(false)
	if err != nil {
		return nil, nil, err
	}
	var out []change
	err = tx.Changes(collect(&out))
	return next, out, errors.Join(err, sameInBuffer(tx, out, err))
}

// sameInBuffer returns an error unless AppendChanges emits the changes want and returns
// wantErr. The buffer for AppendChanges has contents and is too small for the changes.
func sameInBuffer(tx *statecore.Tx, want []change, wantErr error) error {
	before := []byte("before")
	var data [][]byte
	var out []change
	buf, err := tx.AppendChanges(before, func(channel string, k statecore.Kind, d []byte) {
		data = append(data, d)
		out = append(out, change{channel: channel, kind: k})
	})
	for i := range out {
		out[i].data = string(data[i]) // the data of every change is still valid
	}
	switch {
	case fmt.Sprint(err) != fmt.Sprint(wantErr):
		return fmt.Errorf("appended: got error %w want %w", err, wantErr)
	case !slices.EqualFunc(out, want, sameButForOrder):
		return fmt.Errorf("appended: got %v want %v", out, want)
	case wantErr == nil && !strings.HasPrefix(string(buf), "before"):
		return fmt.Errorf("the buffer begins with %.6q", buf)
	}
	return nil
}

// sameButForOrder compares changes. It ignores the order of the bytes in their data,
// since a type may write its parts in any order.
func sameButForOrder(a, b change) bool {
	bytesOf := func(c change) string { return string(slices.Sorted(slices.Values([]byte(c.data)))) }
	return a.channel == b.channel && a.kind == b.kind && bytesOf(a) == bytesOf(b)
}

// collect returns an Emit that appends changes to out.
func collect(out *[]change) statecore.Emit {
	return func(channel string, k statecore.Kind, data []byte) {
		*out = append(*out, change{channel, k, string(data)})
	}
}

// snapshot returns the changes that restore a state.
func snapshot(tb testing.TB, s *statecore.Schema, v state.View) []change {
	tb.Helper()
	var out []change
	require.NoError(tb, s.Snapshot(v, 0, collect(&out)))
	return out
}

// replayed returns the state after stored changes on base, which may be nil.
func replayed(tb testing.TB, s *statecore.Schema, base state.View, stored ...change) state.View {
	tb.Helper()
	r := s.Replay(base)
	for _, c := range stored {
		require.NoError(tb, r.Apply(c.channel, c.kind, []byte(c.data)), "replaying %v of %s", c.kind, c.data)
	}
	return r.View()
}

// channelErr fails the test unless err is a ChannelError with this channel that
// wraps want, if want is not nil.
func channelErr(tb testing.TB, err error, channel string, want error) {
	tb.Helper()
	ce, ok := errors.AsType[*state.ChannelError](err)
	require.True(tb, ok, "channel %q: got %v, want a ChannelError", channel, err)
	require.Equal(tb, channel, ce.Channel)
	if want != nil {
		require.ErrorIs(tb, err, want)
	}
}
