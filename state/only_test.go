package state_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// TestOnlyEqualsATransactionOnTheEmptyState proves that the function Only returns the same
// state as a transaction on the empty state.
func TestOnlyEqualsATransactionOnTheEmptyState(t *testing.T) {
	t.Parallel()
	last, sum, list := state.Last[int]("last"), state.Sum[int]("sum").Default(func() int { return 10 }), state.Append[string]("list")
	started := state.Append[string]("started").Default(func() []string { return []string{"a"} })
	keyed := state.Keyed("keyed", byKey{}).Prune(func(all []item) []item { return all[max(0, len(all)-2):] })
	entries, once := state.Map[string, int]("entries"), state.Ephemeral[int]("once")
	schema := schemaOf(t, last, sum, list, started, keyed, entries, once)
	read := func(v state.View) []any {
		return []any{last.Get(v), sum.Get(v), list.Get(v), started.Get(v), keyed.Get(v), entries.Get(v), once.Get(v)}
	}

	used := schema.Begin(commit(t, schema, schema.Empty(), last.Put(7), list.Put("x"), keyed.Put(item{"k", "old"})))
	for _, test := range []struct {
		name   string
		writes []state.Write
	}{
		{"nothing", nil},
		{"an empty write", []state.Write{{}}},
		{"a value", []state.Write{last.Put(1)}},
		{"the zero value", []state.Write{last.Put(0)}},
		{"an update of a default", []state.Write{sum.Put(5)}},
		{"several updates", []state.Write{sum.Put(1, 2, 3)}},
		{"elements", []state.Write{list.Put("a", "b")}},
		{"elements after a default", []state.Write{started.Put("b")}},
		{"no elements", []state.Write{list.Overwrite(nil)}},
		{"pruned", []state.Write{keyed.Put(item{"a", "1"}, item{"b", "2"}, item{"c", "3"})}},
		{"entries", []state.Write{entries.Put(map[string]int{"a": 1})}},
		{"an ephemeral value", []state.Write{once.Put(1)}},
		{"two writes", []state.Write{last.Put(1), list.Put("a")}},
		{"two writes of one channel", []state.Write{last.Put(1), last.Put(2)}},
	} {
		want, err := step(schema, schema.Empty(), false, test.writes)
		require.NoError(t, err)
		got, err := statecore.Only(used, test.writes)
		require.NoError(t, err, "%s", test.name)
		assert.Equal(t, read(want), read(got), "%s", test.name)
		more := []state.Write{last.Put(3), sum.Put(4), list.Put("more"), keyed.Put(item{"a", "9"})}
		before := read(got)
		assert.Equal(t, read(commit(t, schema, want, more...)), read(commit(t, schema, got, more...)), "%s, with more writes", test.name)
		assert.Equal(t, read(statecore.Overlay(schema, want, more)), read(statecore.Overlay(schema, got, more)), "%s, with an overlay", test.name)
		assert.Equal(t, before, read(got), "%s", test.name)
	}
}

// TestOnlyEndsTheTransaction proves that the function Only ends a transaction, and that Begin
// makes the transaction usable again.
func TestOnlyEndsTheTransaction(t *testing.T) {
	t.Parallel()
	list, other := state.Append[string]("list"), state.Last[int]("other")
	schema := schemaOf(t, list)
	base := commit(t, schema, schema.Empty(), list.Put("a"))
	tx := schema.Begin(base)
	first, err := statecore.Only(tx, []state.Write{list.Put("sent")})
	require.NoError(t, err)
	assert.NotNil(t, statecore.Apply(tx, 0, []state.Write{list.Put("late")}))
	tx.Begin(schema, base)
	require.NoError(t, statecore.Apply(tx, 0, []state.Write{list.Put("b")}))
	next, err := tx.Finish(true)
	require.NoError(t, err)
	got := [][]string{list.Get(first), list.Get(base), list.Get(next)}
	assert.Equal(t, [][]string{{"sent"}, {"a"}, {"a", "b"}}, got)
	var stored []string
	require.NoError(t, tx.Changes(func(_ string, _ statecore.Kind, data []byte) { stored = append(stored, string(data)) }))
	assert.Equal(t, []string{`["b"]`}, stored)

	_, err = statecore.Only(tx, []state.Write{other.Put(1)})
	channelErr(t, err, "other", state.ErrUnknownChannel)
	failing := state.NewChannel("failing", func(int, int) (int, error) { panic("no") })
	broken := schemaOf(t, failing)
	_, err = statecore.Only(broken.Begin(broken.Empty()), []state.Write{failing.Put(1)})
	channelErr(t, err, "failing", nil)
	v := must(statecore.Only(broken.Begin(broken.Empty()), []state.Write(nil)))
	defer func() {
		assert.NotNil(t, recover())
	}()
	other.Get(v)
}
