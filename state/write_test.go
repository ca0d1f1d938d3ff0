package state_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-go/weft/state"
)

// TestStoredWrites has each kind of write stored and read back: its effect on
// an empty and on a full state is the same.
func TestStoredWrites(t *testing.T) {
	t.Parallel()
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	full := commit(t, schema, schema.Empty(), all.fill()...)
	for _, test := range []struct {
		name  string
		write state.Write
		kind  state.Kind
		data  string
	}{
		{"last", all.last.Put(doc{N: 3}), state.KindUpdate, `[{"n":3,"tags":null,"more":null}]`},
		{"last over", all.last.Overwrite(doc{N: 3}), state.KindOverwrite, `{"n":3,"tags":null,"more":null}`},
		{"any", all.any.Put("a", "b"), state.KindUpdate, `["a","b"]`},
		{"keep", all.keep.Put(nil, ref([]int{1}), ref([]int(nil))), state.KindUpdate, `[[1],null]`},
		{"sum", all.sum.Put(1, -2), state.KindUpdate, `[1,-2]`},
		{"max", all.max.Put(1.5), state.KindUpdate, `[1.5]`},
		{"max over", all.max.Overwrite(-1.5), state.KindOverwrite, `-1.5`},
		{"ephemeral", all.ephemeral.Put("e"), state.KindUpdate, `["e"]`},
		{"append", all.list.Put(doc{N: 1}, doc{N: 2}), state.KindUpdate, `[{"n":1,"tags":null,"more":null},{"n":2,"tags":null,"more":null}]`},
		{"append over", all.list.Overwrite(nil), state.KindOverwrite, `[]`},
		{"keyed", all.keyed.Put(item{"a", "new"}), state.KindPut, `[{"key":"a","text":"new"}]`},
		{"keyed remove", all.keyed.Remove("a"), state.KindRemove, `["a"]`},
		{"keyed clear", all.keyed.Clear(), state.KindClear, ``},
		{"keyed over", all.keyed.Overwrite([]item{{Key: "z"}}), state.KindOverwrite, `[{"key":"z"}]`},
		{"set", all.set.Put("x", "y"), state.KindPut, `["x","y"]`},
		{"set remove", all.set.Remove("s"), state.KindRemove, `["s"]`},
		{"map", all.entries.Put(map[string][]int{"m": {2}}), state.KindMerge, `{"m":[2]}`},
		{"map nil", all.entries.Put(nil), state.KindMerge, `null`},
		{"map remove", all.entries.Remove("m"), state.KindRemove, `{"m":{}}`},
		{"map over", all.entries.Overwrite(map[string][]int{}), state.KindOverwrite, `{}`},
		{"custom", all.custom.Put("u"), state.KindUpdate, `["u"]`},
		{"custom over", all.custom.Overwrite([]string{"v"}), state.KindOverwrite, `["v"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k, data, ok, err := schema.EncodeWrite(test.write)
			if err != nil || !ok || k != test.kind || string(data) != test.data {
				t.Fatalf("got %v %s, %v, %v, want %v %s", k, data, ok, err, test.kind, test.data)
			}
			back, err := schema.DecodeWrite(test.write.Channel(), k, data)
			if err != nil {
				t.Fatal(err)
			}
			if back.Channel() != test.write.Channel() || back.String() != test.write.String() {
				t.Errorf("read back as %s, want %s", back, test.write)
			}
			for _, v := range []state.View{schema.Empty(), full} {
				want, got := commit(t, schema, v, test.write), commit(t, schema, v, back)
				if a, b := all.dump(want), all.dump(got); !reflect.DeepEqual(a, b) {
					t.Errorf("read back, it gives %v, want %v", b, a)
				}
			}
		})
	}
}

// TestEcho has the changes of a step read as writes: they have the step's
// effect again.
func TestEcho(t *testing.T) {
	t.Parallel()
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	full := commit(t, schema, schema.Empty(), all.fill()...)
	for name, writes := range map[string][]state.Write{
		"puts":       all.fill(),
		"overwrites": {all.last.Overwrite(doc{N: 9}), all.any.Overwrite("o"), all.keep.Overwrite(nil), all.list.Overwrite([]doc{{N: 4}}), all.keyed.Overwrite([]item{{Key: "o"}}), all.set.Overwrite([]string{"o"}), all.entries.Overwrite(nil)},
		"removals":   {all.keyed.Remove("a"), all.keyed.Put(item{Key: "q"}), all.set.Remove("s"), all.entries.Remove("m")},
		"clears":     {all.keyed.Clear(), all.set.Clear()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, stored := changes(t, schema, full, writes...)
			var echoes []state.Write
			for _, c := range stored {
				if !schema.Echoes(c.channel) {
					_, err := schema.Echo(c.channel, c.kind, []byte(c.data))
					channelErr(t, err, c.channel, state.ErrStored)
					for _, w := range writes {
						if w.Channel() == c.channel {
							echoes = append(echoes, w)
						}
					}
					continue
				}
				w, err := schema.Echo(c.channel, c.kind, []byte(c.data))
				if err != nil {
					t.Fatal(err)
				}
				echoes = append(echoes, w)
			}
			got := commit(t, schema, full, echoes...)
			if a, b := all.dump(want), all.dump(got); !reflect.DeepEqual(a, b) {
				t.Errorf("the echo gives %v, want %v", b, a)
			}
		})
	}
}

func TestEchoes(t *testing.T) {
	t.Parallel()
	list := state.Append[int]("list").Default(func() []int { return []int{1} })
	entries := state.Map[string, int]("entries").Default(func() map[string]int { return nil })
	all := newKinds()
	for name, c := range map[bool][]state.Handle{
		true:  {all.last, all.any, all.keep, all.ephemeral, all.list, all.keyed, all.set, all.entries},
		false: {all.sum, all.max, all.custom, all.untracked, list, entries},
	} {
		schema := schemaOf(t, c...)
		for _, c := range c {
			if got := schema.Echoes(c.Name()); got != name {
				t.Errorf("%s: got %v, want %v", c.Name(), got, name)
			}
		}
	}
	// The end of an ephemeral value is no write of anybody's.
	schema := schemaOf(t, all.ephemeral)
	if w, err := schema.Echo("ephemeral", state.KindClear, nil); err != nil || w.Channel() != "" {
		t.Errorf("got %s, %v, want nothing", w, err)
	}
}

// TestStoredNonsense has what no step stores: it is a named error.
func TestStoredNonsense(t *testing.T) {
	t.Parallel()
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	kinds := []state.Kind{0, state.KindSet, state.KindAppend, state.KindPut, state.KindRemove, state.KindMerge, state.KindClear, state.KindUpdate, state.KindOverwrite, 9, 255}
	replays := map[string][]state.Kind{
		"append": {state.KindSet, state.KindAppend},
		"keyed":  {state.KindSet, state.KindPut, state.KindRemove},
		"set":    {state.KindSet, state.KindPut, state.KindRemove},
		"map":    {state.KindSet, state.KindMerge, state.KindRemove},
	}
	writes := map[string][]state.Kind{
		"keyed": {state.KindPut, state.KindRemove, state.KindClear, state.KindOverwrite},
		"set":   {state.KindPut, state.KindRemove, state.KindClear, state.KindOverwrite},
		"map":   {state.KindMerge, state.KindRemove, state.KindOverwrite},
	}
	for _, d := range schema.Describe() {
		if replays[d.Kind] == nil {
			replays[d.Kind] = []state.Kind{state.KindSet}
		}
		if writes[d.Kind] == nil {
			writes[d.Kind] = []state.Kind{state.KindUpdate, state.KindOverwrite}
		}
		for _, k := range kinds {
			err := schema.Replay(nil).Apply(d.Name, k, []byte(`null`))
			if want := k == state.KindClear || slices.Contains(replays[d.Kind], k); (err == nil) != want {
				t.Errorf("%s: replay of a %v: got %v", d.Name, k, err)
			} else if err != nil {
				channelErr(t, err, d.Name, state.ErrStored)
			}
			_, err = schema.DecodeWrite(d.Name, k, []byte(`null`))
			if want := slices.Contains(writes[d.Kind], k); (err == nil) != want {
				t.Errorf("%s: a write of kind %v: got %v", d.Name, k, err)
			} else if err != nil {
				channelErr(t, err, d.Name, state.ErrStored)
			}
			for _, text := range []string{"", "x", `"a`, `[`, `[{]`, `{"a":}`, `[1,2] 3`, "\"\xff\"", "[\"\xff\"]"} {
				err := schema.Replay(nil).Apply(d.Name, k, []byte(text))
				if k != state.KindClear && !errors.Is(err, state.ErrStored) {
					t.Errorf("%s: replay of a %v of %q: got %v", d.Name, k, text, err)
				}
				if _, err := schema.DecodeWrite(d.Name, k, []byte(text)); k != state.KindClear && !errors.Is(err, state.ErrStored) {
					t.Errorf("%s: a write of kind %v of %q: got %v", d.Name, k, text, err)
				}
			}
		}
	}
	channelErr(t, schema.Replay(nil).Apply("keyed", state.KindPut, []byte(`[{"key":"a"},{"text":"no key"}]`)), "keyed", state.ErrStored)
	_, err := schema.DecodeWrite("keyed", state.KindPut, []byte(`[{}]`))
	channelErr(t, err, "keyed", state.ErrStored)
}

// fragile panics for elements that are nil.
type fragile struct{}

func (fragile) ID(e *item) string               { return e.Key }
func (fragile) WithID(e *item, id string) *item { return &item{Key: id, Text: e.Text} }

func TestReplayOfWhatPanics(t *testing.T) {
	t.Parallel()
	keyed := state.Keyed("keyed", fragile{})
	schema := schemaOf(t, keyed)
	channelErr(t, schema.Replay(nil).Apply("keyed", state.KindPut, []byte(`[null]`)), "keyed", state.ErrStored)
	_, err := schema.DecodeWrite("keyed", state.KindPut, []byte(`[null]`))
	channelErr(t, err, "keyed", state.ErrStored)
	_, err = schema.Echo("keyed", state.KindPut, []byte(`[null]`))
	channelErr(t, err, "keyed", state.ErrStored)
}
