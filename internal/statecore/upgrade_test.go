package statecore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

func TestRenameReadsRecordsWithTheFormerName(t *testing.T) {
	t.Parallel()
	c := newChannels()
	schema := schemaOf(t, c.handles()...)
	require.NoError(t, schema.Rename("messages", "list"))
	require.NoError(t, schema.Rename("messages", "list"), "the same rename again")

	r := schema.Replay(nil)
	require.NoError(t, r.Apply("messages", statecore.KindAppend, []byte(`["a"]`)))
	view := r.View()
	w, err := schema.DecodeWrite("messages", statecore.KindUpdate, []byte(`["b"]`))
	require.NoError(t, err)
	view = apply(t, schema, view, w)
	require.True(t, schema.ChangesAreWrites("messages"))
	w, err = schema.WriteFromChange("messages", statecore.KindAppend, []byte(`["c"]`))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, c.list.Get(apply(t, schema, view, w)))
	assert.Equal(t, "list", w.Channel())

	require.ErrorContains(t, schema.Rename("x", "lists"), `did you mean "list"?`)
	require.ErrorContains(t, schema.Rename("sum", "list"), "still has a channel of the old name")
	require.ErrorContains(t, schema.Rename("messages", "set"), `already renamed to "list"`)
}

// wrapped converts a stored string to {"id": …, "text": …}. It returns other JSON unchanged.
func wrapped(old json.RawMessage) (json.RawMessage, error) {
	if old[0] != '"' {
		return old, nil
	}
	return fmt.Appendf(nil, `{"id":%s,"text":"old"}`, old), nil
}

func TestUpgradeConvertsStoredValuesAndWrites(t *testing.T) {
	t.Parallel()
	last := state.Last[note]("last").Upgrade(wrapped)
	optional := state.Optional[note]("optional").Upgrade(wrapped)
	list := state.Append[note]("list").Upgrade(wrapped)
	keyed := state.Keyed("keyed", noteID{}).Upgrade(wrapped)
	set := state.Set[note]("set").Upgrade(wrapped)
	entries := state.Map[string, note]("entries").Upgrade(wrapped)
	schema := schemaOf(t, last, optional, list, keyed, set, entries)

	a, b := note{"a", "old"}, note{"b", "new"}
	const mixed = `["a",{"id":"b","text":"new"}]`
	r := schema.Replay(nil)
	for channel, change := range map[string]struct {
		kind statecore.Kind
		data string
	}{
		"last": {statecore.KindSet, `"a"`}, "optional": {statecore.KindSet, `"a"`}, "list": {statecore.KindAppend, mixed},
		"keyed": {statecore.KindPut, mixed}, "set": {statecore.KindSet, mixed}, "entries": {statecore.KindMerge, `{"x":"a","y":{"id":"b","text":"new"}}`},
	} {
		require.NoError(t, r.Apply(channel, change.kind, []byte(change.data)))
	}
	require.NoError(t, r.Apply("set", statecore.KindRemove, []byte(`[{"id":"b","text":"new"}]`)))
	view := r.View()
	assert.Equal(t, a, last.Get(view))
	assert.Equal(t, a, optional.Get(view))
	assert.Equal(t, []note{a, b}, list.Get(view))
	assert.Equal(t, []note{a, b}, keyed.Get(view))
	assert.Equal(t, []note{a}, set.Get(view))
	assert.Equal(t, map[string]note{"x": a, "y": b}, entries.Get(view))

	for _, channel := range []string{"last", "optional", "list"} {
		w, err := schema.DecodeWrite(channel, statecore.KindUpdate, []byte(`["a"]`))
		require.NoError(t, err, channel)
		assert.Contains(t, w.String(), `"text":"old"`)
	}
	w, err := schema.DecodeWrite("set", statecore.KindRemove, []byte(`["a"]`))
	require.NoError(t, err)
	assert.Empty(t, set.Get(apply(t, schema, view, w)))

	_, err = schema.InputFromJSON(raws(map[string]string{"last": `"a"`}))
	assert.Error(t, err, "input is not converted")
}

func TestErrorOrPanicOfUpgradeIsAnErrorOfTheChannel(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	failing := func(json.RawMessage) (json.RawMessage, error) { return nil, boom }
	panicking := func(json.RawMessage) (json.RawMessage, error) { panic("thrown") }
	schema := schemaOf(t,
		state.Append[note]("list").Upgrade(failing), state.Map[string, note]("entries").Upgrade(failing),
		state.Last[note]("last").Upgrade(panicking), state.Last[note]("plain"))
	for channel, data := range map[string]string{"list": `["a"]`, "entries": `{"k":"a"}`, "last": `"a"`, "plain": `"a"`} {
		err := schema.Replay(nil).Apply(channel, statecore.KindSet, []byte(data))
		require.ErrorIs(t, err, state.ErrStored)
		assert.ErrorContains(t, err, fmt.Sprintf("state: channel %q", channel))
		switch channel {
		case "last":
			assert.ErrorContains(t, err, "thrown")
		case "list", "entries":
			assert.ErrorIs(t, err, boom)
		}
		if channel == "plain" {
			assert.ErrorContains(t, err, "give it an Upgrade function")
		} else {
			assert.ErrorContains(t, err, "its Upgrade function")
			assert.NotContains(t, err.Error(), "give it an Upgrade function")
		}
	}
}

func TestErrorBlamesAnUpgradeWhoseResultCannotBeRead(t *testing.T) {
	t.Parallel()
	same := func(old json.RawMessage) (json.RawMessage, error) { return old, nil }
	schema := schemaOf(t, state.Append[note]("list").Upgrade(same), state.Map[string, note]("entries").Upgrade(same), state.Last[note]("last").Upgrade(same))
	for channel, data := range map[string]string{"list": `["a"]`, "entries": `{"k":"a"}`, "last": `"a"`} {
		err := schema.Replay(nil).Apply(channel, statecore.KindSet, []byte(data))
		require.ErrorIs(t, err, state.ErrStored)
		assert.ErrorContains(t, err, "its Upgrade function returned JSON that cannot be read")
		assert.NotContains(t, err.Error(), "give it an Upgrade function")
	}
}
