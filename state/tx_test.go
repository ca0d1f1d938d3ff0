package state_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

func TestConcurrentWritesByKindOfChannel(t *testing.T) {
	t.Parallel()
	last, anyOf, keep := state.Last[int]("last"), state.LastWins[int]("any"), state.Optional[int]("keep")
	ephemeral, untracked := state.Ephemeral[int]("ephemeral"), state.Untracked[int]("untracked")
	sum, highest := state.Sum[int]("sum"), state.Max[int]("max")
	list, keyed, set := state.Append[int]("list"), state.Keyed("keyed", byKey{}), state.Set[int]("set")
	entries, custom := state.Map[string, int]("entries"), state.NewChannel("custom", concat)
	schema := schemaOf(t, last, anyOf, keep, ephemeral, untracked, sum, highest, list, keyed, set, entries, custom)
	tested := map[string]bool{}
	for _, test := range []struct {
		name  string
		tasks [][]state.Write // the writes of tasks 0, 1, …
		clash bool
		read  func(state.View) any
		want  any
	}{
		{"last by two", [][]state.Write{{last.Put(1)}, {last.Put(1)}}, true, nil, nil},
		{"last by one, twice", [][]state.Write{{last.Put(1), last.Put(2)}}, false, func(v state.View) any { return last.Get(v) }, 2},
		{"last, overwritten by another", [][]state.Write{{last.Put(1)}, {last.Overwrite(2)}}, true, nil, nil},
		{"last, overwritten and put by one", [][]state.Write{{last.Overwrite(2), last.Put(3)}}, false, func(v state.View) any { return last.Get(v) }, 3},
		{"last, an empty put beside", [][]state.Write{{last.Put(1)}, {last.Put()}}, false, func(v state.View) any { return last.Get(v) }, 1},
		{"ephemeral by two", [][]state.Write{{ephemeral.Put(1)}, {ephemeral.Put(2)}}, true, nil, nil},
		{"untracked by two", [][]state.Write{{untracked.Put(1)}, {untracked.Put(2)}}, true, nil, nil},
		{"any by three", [][]state.Write{{anyOf.Put(1)}, {anyOf.Put(2)}, {anyOf.Put(3)}}, false, func(v state.View) any { return anyOf.Get(v) }, 3},
		{"any overwritten by two", [][]state.Write{{anyOf.Overwrite(1)}, {anyOf.Overwrite(2)}}, true, nil, nil},
		{"keep by three, the last absent", [][]state.Write{{keep.Put(ref(1))}, {keep.Put(ref(2))}, {keep.Put(nil)}}, false, func(v state.View) any { return keep.Get(v) }, 2},
		{"sum by two", [][]state.Write{{sum.Put(1)}, {sum.Put(2)}}, false, func(v state.View) any { return sum.Get(v) }, 3},
		{"sum, overwritten between", [][]state.Write{{sum.Put(1)}, {sum.Overwrite(10)}, {sum.Put(5)}}, false, func(v state.View) any { return sum.Get(v) }, 15},
		{"sum, overwritten by two", [][]state.Write{{sum.Overwrite(1)}, {sum.Put(1)}, {sum.Overwrite(1)}}, true, nil, nil},
		{"sum, overwritten twice by one", [][]state.Write{{sum.Overwrite(1), sum.Overwrite(2)}}, false, func(v state.View) any { return sum.Get(v) }, 2},
		{"max by two", [][]state.Write{{highest.Put(4)}, {highest.Put(2)}}, false, func(v state.View) any { return highest.Get(v) }, 4},
		{"list by two", [][]state.Write{{list.Put(1)}, {list.Put(2)}}, false, func(v state.View) any { return len(list.Get(v)) }, 2},
		{"list overwritten by two", [][]state.Write{{list.Overwrite(nil)}, {list.Overwrite(nil)}}, true, nil, nil},
		{"keyed by two, one element", [][]state.Write{{keyed.Put(item{"a", "1"})}, {keyed.Put(item{"a", "2"})}}, false, func(v state.View) any { return keyed.Get(v)[0].Text }, "2"},
		{"keyed overwritten by two", [][]state.Write{{keyed.Overwrite(nil)}, {keyed.Overwrite(nil)}}, true, nil, nil},
		{"keyed cleared by two", [][]state.Write{{keyed.Clear()}, {keyed.Clear()}}, false, func(v state.View) any { return keyed.Len(v) }, 0},
		{"set overwritten by two", [][]state.Write{{set.Overwrite(nil)}, {set.Overwrite(nil)}}, true, nil, nil},
		{"map by two", [][]state.Write{{entries.Put(map[string]int{"a": 1})}, {entries.Put(map[string]int{"a": 2})}}, false, func(v state.View) any { return entries.Get(v)["a"] }, 2},
		{"map overwritten by two", [][]state.Write{{entries.Overwrite(nil)}, {entries.Overwrite(nil)}}, true, nil, nil},
		{"custom overwritten by two", [][]state.Write{{custom.Overwrite("")}, {custom.Overwrite("")}}, true, nil, nil},
	} {
		tested[test.tasks[0][0].Channel()] = true
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v, err := step(schema, schema.Empty(), true, test.tasks...)
			if test.clash {
				channelErr(t, err, test.tasks[0][0].Channel(), state.ErrConcurrentWrite)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.want, test.read(v))
		})
	}
	for _, d := range schema.Describe() {
		assert.True(t, tested[d.Name], "the table of TestConcurrentWritesByKindOfChannel does not have the channel %q", d.Name)
	}
}

func TestEachSuperstepMayHaveAnotherWriter(t *testing.T) {
	t.Parallel()
	last := state.Last[int]("last")
	schema := schemaOf(t, last)
	v := schema.Empty()
	for task := range 3 {
		tasks := make([][]state.Write, task+1)
		tasks[task] = []state.Write{last.Overwrite(task)}
		next, err := step(schema, v, true, tasks...)
		require.NoError(t, err)
		v = next
	}
	assert.Equal(t, 2, last.Get(v))
}

func TestUseOfAnUnknownChannelIsAnError(t *testing.T) {
	t.Parallel()
	known, stranger := state.Last[int]("c"), state.Last[int]("c") // equal names, but two channels
	list, keyed, entries := state.Append[int]("l"), state.Keyed("k", byKey{}), state.Map[string, int]("m")
	schema := schemaOf(t, known)
	v := schema.Empty()

	_, err := step(schema, v, true, []state.Write{stranger.Put(1)})
	channelErr(t, err, "c", state.ErrUnknownChannel)
	_, _, ok, err := schema.EncodeWrite(stranger.Put(1).Core())
	channelErr(t, err, "c", state.ErrUnknownChannel)
	assert.False(t, ok)
	_, err = schema.DecodeWrite("l", statecore.KindUpdate, []byte(`[1]`))
	channelErr(t, err, "l", state.ErrUnknownChannel)
	_, err = schema.WriteFromChange("l", statecore.KindAppend, []byte(`[1]`))
	channelErr(t, err, "l", state.ErrUnknownChannel)
	channelErr(t, schema.Replay(nil).Apply("l", statecore.KindAppend, []byte(`[1]`)), "l", state.ErrUnknownChannel)
	assert.False(t, schema.ChangesAreWrites("l"))

	for name, read := range map[string]func(state.View){
		"c": func(v state.View) { stranger.Get(v) },
		"l": func(v state.View) { list.Last(v) },
		"k": func(v state.View) { keyed.Find(v, "a") },
		"m": func(v state.View) { entries.Find(v, "a") },
	} {
		for _, v := range []state.View{v, statecore.Overlay(schema, v, []state.Write{known.Put(1)})} {
			func() {
				defer func() {
					err, _ := recover().(error)
					channelErr(t, err, name, state.ErrUnknownChannel)
				}()
				read(v)
			}()
		}
	}
}

func TestErrorOrPanicOfAReducerIsAnErrorOfTheChannel(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	c := state.NewChannel("c", func(current, update int) (int, error) {
		switch update {
		case 1:
			return 0, boom
		case 2:
			panic("oh no")
		}
		return current + update, nil
	})
	schema := schemaOf(t, c)
	_, err := step(schema, schema.Empty(), true, []state.Write{c.Put(5, 1)})
	channelErr(t, err, "c", boom)
	_, err = step(schema, schema.Empty(), true, []state.Write{c.Put(2)})
	channelErr(t, err, "c", nil)
	assert.Contains(t, err.Error(), "oh no")
	defer func() {
		err, _ := recover().(error)
		channelErr(t, err, "c", boom)
	}()
	c.Get(statecore.Overlay(schema, schema.Empty(), []state.Write{c.Put(1)}))
}

func TestTransactionCannotBeUsedAfterItsEnd(t *testing.T) {
	t.Parallel()
	list := state.Append[int]("list")
	schema := schemaOf(t, list)
	tx := schema.Begin(schema.Empty())
	assert.False(t, tx.Changed())
	require.NoError(t, statecore.Apply(tx, 0, []state.Write{list.Put(1)}))
	assert.True(t, tx.Changed())
	v, err := tx.Finish(true)
	require.NoError(t, err)
	channelErr(t, statecore.Apply(tx, 0, []state.Write{list.Put(2)}), "list", nil)

	r := schema.Replay(v)
	again := r.View()
	channelErr(t, r.Apply("list", statecore.KindAppend, []byte(`[2]`)), "list", nil)
	for _, v := range []state.View{v, again} {
		assert.Equal(t, []int{1}, list.Get(v))
	}
}

func TestSignalsDoNotChangeAState(t *testing.T) {
	t.Parallel()
	list := state.Append[int]("list")
	schema := schemaOf(t, list)
	w := state.Write{Write: statecore.SignalWrite(away("home"))}
	assert.Equal(t, away("home"), w.Signal(), "got %v of channel %q", w.Signal(), w.Channel())
	assert.Empty(t, w.Channel(), "got %v of channel %q", w.Signal(), w.Channel())
	assert.Equal(t, "to home", w.String(), "got %v of channel %q", w.Signal(), w.Channel())
	appended := list.Put(1)
	assert.Nil(t, appended.Signal())
	assert.Equal(t, "list", appended.Channel())
	assert.Equal(t, "append list: [1]", appended.String())
	zero := state.Write{}
	assert.Nil(t, zero.Signal())
	assert.Equal(t, "nothing", zero.String())
	v, stored := changes(t, schema, schema.Empty(), w, state.Write{})
	assert.Empty(t, stored)
	assert.Equal(t, 0, list.Len(v))
	for _, w := range []state.Write{w, {}} {
		_, _, ok, err := schema.EncodeWrite(w.Core())
		assert.False(t, ok, "EncodeWrite(%s)", w)
		assert.NoError(t, err, "EncodeWrite(%s)", w)
	}
	assert.Equal(t, 0, list.Len(statecore.Overlay(schema, v, []state.Write{w, {}})))
}

type away string

func (a away) Signal() string { return "to " + string(a) }

func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	want := []string{"kind(0)", "set", "append", "put", "remove", "merge", "clear", "update", "overwrite", "kind(9)"}
	for k, name := range want {
		assert.Equal(t, name, statecore.Kind(k).String())
	}
}
