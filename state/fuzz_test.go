package state_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// mixture has fields of all types that FuzzValue uses.
type mixture struct {
	Text    string            `json:"text"`
	Name    id                `json:"name,omitempty"`
	Int     int64             `json:"int"`
	Uint    *uint64           `json:"uint"`
	Float   float64           `json:"float"`
	Bytes   []byte            `json:"bytes"`
	Table   map[string]string `json:"table"`
	Numbers map[int64][]int8  `json:"numbers"`
	At      time.Time         `json:"at"`
	Any     any               `json:"any"`
	Next    []mixture         `json:"next"`
}

// FuzzValue stores random values and reads them back. The values must be equal.
// The only expected errors are for invalid UTF-8, for NaN and infinity,
// and for years that JSON cannot hold.
func FuzzValue(f *testing.F) {
	f.Add("plain", int64(1<<53+1), uint64(math.MaxUint64), 0.1, []byte{0, 255}, int64(1), uint8(0))
	f.Add("\x00<&>\u2028\"\\\ufffd", int64(math.MinInt64), uint64(0), math.Copysign(0, -1), []byte{}, int64(-1<<40), uint8(255))
	f.Add("bad\xff", int64(0), uint64(1), math.Inf(1), []byte("x"), int64(0), uint8(0x0f))
	f.Add("\xed\xa0\x80", int64(-1), uint64(1), math.NaN(), []byte(nil), int64(0), uint8(0xf0))
	texts, values := state.Append[string]("texts"), state.Append[mixture]("values")
	schema, err := statecore.NewSchema[state.Handle](texts, values)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string, i int64, u uint64, fl float64, b []byte, seconds int64, shape uint8) {
		v := mixture{Text: text, Int: i, Float: fl, At: time.Unix(seconds%(1<<37), i&0xfffffff).UTC(), Any: text}
		if shape&1 != 0 {
			v.Uint, v.Bytes = &u, b
		}
		if shape&2 != 0 {
			v.Name, v.Table = id(text), map[string]string{text: text, "": ""}
		}
		if shape&4 != 0 {
			v.Numbers, v.Any = map[int64][]int8{i: nil, seconds: {int8(shape)}}, []any{fl, nil, map[string]any{text: true}}
		}
		if shape&8 != 0 {
			v.Next = []mixture{v, {Numbers: map[int64][]int8{}}}
		}
		good := utf8.ValidString(text)
		checkText(t, schema, texts.Put(text), text, good)
		finite := !math.IsNaN(fl) && !math.IsInf(fl, 0)
		year := v.At.Year()
		k, data, _, err := schema.EncodeWrite(values.Put(v).Core())
		require.Equal(t, good && finite && year >= 0 && year < 10_000, err == nil, "%v", err)
		if err != nil {
			channelErr(t, err, "values", state.ErrRoundTrip)
			return
		}
		w, err := schema.DecodeWrite("values", k, data)
		require.NoError(t, err)
		got := values.Get(commit(t, schema, schema.Empty(), state.Write{Write: w}))
		require.Equal(t, []mixture{v}, got)
		require.Equal(t, math.Signbit(fl), math.Signbit(got[0].Float))
	})
}

// checkText compares the stored form of a string with the output of encoding/json.
func checkText(t *testing.T, schema *statecore.Schema, w state.Write, text string, good bool) {
	t.Helper()
	k, data, _, err := schema.EncodeWrite(w.Core())
	require.Equal(t, good, err == nil, "%q", text)
	if err != nil {
		return
	}
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode([]string{text}))
	require.Equal(t, want.String(), string(data)+"\n")
	back, err := schema.DecodeWrite(w.Channel(), k, data)
	require.NoError(t, err)
	_, again, _, err := schema.EncodeWrite(back.Core())
	require.NoError(t, err)
	require.Equal(t, data, again)
}

// FuzzAny decodes random JSON into an any.
// If that succeeds, the value can be stored and read back without a change.
func FuzzAny(f *testing.F) {
	for _, text := range []string{`null`, `1`, `-0`, `1e400`, `"\ud800"`, `{"a":[{},[],null,"\u0000",true]}`, `{"a":1,"a":2}`, "\"\xff\"", `[[[[]]]] x`, ``} {
		f.Add([]byte(text))
	}
	c := state.Last[any]("c")
	schema, err := statecore.NewSchema[state.Handle](c)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		w, err := schema.DecodeWrite("c", statecore.KindOverwrite, text)
		if err != nil {
			channelErr(t, err, "c", state.ErrStored)
			return
		}
		v, stored, err := tryChanges(schema, schema.Empty(), state.Write{Write: w})
		require.NoError(t, err, "%q was decoded but cannot be stored", text)
		require.Equal(t, c.Get(v), c.Get(replayed(t, schema, nil, stored...)))
	})
}

// FuzzStored replays random changes.
// If that succeeds, the resulting state can be stored and read back.
func FuzzStored(f *testing.F) {
	all := newKinds()
	schema, err := statecore.NewSchema[state.Handle](all.handles()...)
	require.NoError(f, err)
	var names []string
	for _, d := range schema.Describe() {
		names = append(names, d.Name)
	}
	var stored []change
	v, err := step(schema, schema.Empty(), true, all.fill())
	require.NoError(f, err)
	require.NoError(f, schema.Snapshot(v, 0, collect(&stored)))
	for _, c := range stored {
		f.Add(uint8(slices.Index(names, c.channel)), uint8(c.kind), []byte(c.data), uint8(statecore.KindAppend), []byte(`[{"n":1}]`))
		f.Add(uint8(slices.Index(names, c.channel)), uint8(c.kind), []byte(`null`), uint8(statecore.KindRemove), []byte(`["a"]`))
	}
	f.Fuzz(func(t *testing.T, channel, kind uint8, data []byte, kind2 uint8, data2 []byte) {
		if len(data)+len(data2) > 1<<14 {
			return
		}
		name := names[int(channel)%len(names)]
		if name == "untracked" {
			return
		}
		r := schema.Replay(v)
		for _, c := range []change{{name, statecore.Kind(kind), string(data)}, {name, statecore.Kind(kind2), string(data2)}} {
			if err := r.Apply(c.channel, c.kind, []byte(c.data)); err != nil {
				require.ErrorIs(t, err, state.ErrStored)
			}
			w, err := schema.DecodeWrite(c.channel, c.kind, []byte(c.data))
			if err != nil {
				channelErr(t, err, name, state.ErrStored)
				continue
			}
			_, _, _, err = schema.EncodeWrite(w.Core())
			require.NoError(t, err, "%s was decoded but cannot be stored", c.data)
			if _, err := schema.WriteFromChange(c.channel, c.kind, []byte(c.data)); err != nil {
				channelErr(t, err, name, state.ErrStored)
			}
		}
		next := r.View()
		var again []change
		require.NoError(t, schema.Snapshot(next, 0, collect(&again)))
		got, want := all.dump(replayed(t, schema, nil, again...)), all.dump(next)
		require.Equal(t, want, got)
	})
}

// FuzzKeyed runs random supersteps on forks of states with lists and sets.
// It compares the results with a model that uses slices.
func FuzzKeyed(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 10, 1, 20, 2, 0xff, 3, 30, 4, 40, 5})
	f.Add([]byte("put and put again, remove, fork, overwrite, clear"))
	f.Add(bytes.Repeat([]byte{0, 7, 3, 200, 11, 5, 77, 250}, 20))
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 1<<8 {
			return
		}
		k := newKeyedModel(t)
		for len(script) >= 2 {
			n := min(len(script), 2+2*int(script[0]>>6))
			k.step(t, script[0], script[2:n], script[1])
			script = script[n:]
		}
		k.check(t)
	})
}

// keyedModel holds several states and the expected contents of each.
type keyedModel struct {
	list   *state.ListChannel[int]
	keyed  *state.KeyedChannel[item]
	pruned *state.KeyedChannel[item]
	set    *state.SetChannel[string]
	schema *statecore.Schema
	forks  []keyedFork
}

type keyedFork struct {
	view          state.View
	stored        []change
	list          []int
	keyed, pruned []item
	set           []string
}

func newKeyedModel(t *testing.T) *keyedModel {
	k := &keyedModel{
		list: state.Append[int]("list"), keyed: state.Keyed("keyed", byKey{}), set: state.Set[string]("set"),
		pruned: state.Keyed("pruned", byKey{}).Prune(newest),
	}
	k.schema = schemaOf(t, k.list, k.keyed, k.pruned, k.set)
	k.forks = []keyedFork{{view: k.schema.Empty()}}
	return k
}

func newest(all []item) []item { return all[max(0, len(all)-5):] }

// step adds a fork of a state with some writes applied. Every two bytes of the script select
// writes. The argument how selects the state to fork and the kind of step.
func (k *keyedModel) step(t *testing.T, how byte, script []byte, from byte) {
	f := k.forks[len(k.forks)-1]
	if how&1 != 0 {
		f = k.forks[int(from)%len(k.forks)]
	}
	f.stored = slices.Clip(f.stored)
	var writes []state.Write
	for i := 0; i+1 < len(script); i += 2 {
		writes = append(writes, k.write(&f, script[i], script[i+1])...)
	}
	if len(writes) > 0 {
		f.pruned = newest(f.pruned)
	}
	tx := k.schema.Begin(f.view)
	for _, w := range writes {
		require.NoError(t, statecore.Apply(tx, 0, []state.Write{w}))
	}
	if how&2 != 0 {
		return // drop the step without a result
	}
	over := statecore.Overlay(k.schema, f.view, writes)
	next, err := tx.Finish(true)
	require.NoError(t, err)
	require.NoError(t, tx.Changes(collect(&f.stored)))
	k.compare(t, "overlay", f, over)
	f.view = next
	if how&4 != 0 {
		f.view = over // the next step may start from an overlay
	}
	k.forks = append(k.forks, f)
}

// write returns a write for each channel and changes the model in the same way.
func (k *keyedModel) write(f *keyedFork, what, arg byte) []state.Write {
	key := strconv.Itoa(int(arg) % 50)
	e := item{key, strconv.Itoa(int(what))}
	switch {
	case what < 150:
		f.list = append(slices.Clip(f.list), int(what))
		f.keyed, f.pruned, f.set = put(f.keyed, e), put(f.pruned, e), putKey(f.set, key)
		return []state.Write{k.list.Put(int(what)), k.keyed.Put(e), k.pruned.Put(e), k.set.Put(key)}
	case what < 220:
		f.keyed, f.pruned = without(f.keyed, key), without(f.pruned, key)
		f.set = slices.DeleteFunc(slices.Clone(f.set), func(s string) bool { return s == key })
		return []state.Write{k.keyed.Remove(key), k.pruned.Remove(key), k.set.Remove(key)}
	case what < 225:
		f.keyed, f.pruned, f.set = nil, nil, nil
		return []state.Write{k.keyed.Clear(), k.pruned.Clear(), k.set.Clear()}
	}
	var many []item
	var keys []string
	for i := range int(arg) % 30 {
		many, keys = append(many, item{strconv.Itoa(i % 25), key}), append(keys, strconv.Itoa(i%25))
	}
	f.list, f.keyed, f.pruned, f.set = []int{1, 2}, nil, nil, nil
	for i, e := range many {
		f.keyed, f.pruned, f.set = put(f.keyed, e), put(f.pruned, e), putKey(f.set, keys[i])
	}
	return []state.Write{k.list.Overwrite([]int{1, 2}), k.keyed.Overwrite(many), k.pruned.Overwrite(many), k.set.Overwrite(keys)}
}

func put(all []item, e item) []item {
	all = slices.Clone(all)
	if i := slices.IndexFunc(all, func(have item) bool { return have.Key == e.Key }); i >= 0 {
		all[i] = e
		return all
	}
	return append(all, e)
}

func putKey(all []string, key string) []string {
	if slices.Contains(all, key) {
		return all
	}
	return append(slices.Clip(all), key)
}

func without(all []item, key string) []item {
	return slices.DeleteFunc(slices.Clone(all), func(e item) bool { return e.Key == key })
}

func (k *keyedModel) check(t *testing.T) {
	for _, f := range k.forks {
		k.compare(t, "live", f, f.view)
		k.compare(t, "replayed", f, replayed(t, k.schema, nil, f.stored...))
		k.compare(t, "snapshot", f, replayed(t, k.schema, nil, snapshot(t, k.schema, f.view)...))
	}
}

func (k *keyedModel) compare(t *testing.T, how string, f keyedFork, v state.View) {
	t.Helper()
	// The model does not distinguish an empty list from an absent one.
	require.True(t, slices.Equal(f.list, k.list.Get(v)), "%s: list: got %v, want %v", how, k.list.Get(v), f.list)
	require.True(t, slices.Equal(f.keyed, k.keyed.Get(v)), "%s: keyed: got %v, want %v", how, k.keyed.Get(v), f.keyed)
	require.True(t, slices.Equal(f.pruned, k.pruned.Get(v)), "%s: pruned: got %v, want %v", how, k.pruned.Get(v), f.pruned)
	require.True(t, slices.Equal(f.set, k.set.Get(v)), "%s: set: got %v, want %v", how, k.set.Get(v), f.set)
	for _, key := range []string{"0", "7", "49"} {
		want := slices.IndexFunc(f.keyed, func(e item) bool { return e.Key == key })
		got, ok := k.keyed.Find(v, key)
		require.Equal(t, want >= 0, ok, how)
		if ok {
			require.Equal(t, f.keyed[want], got, how)
		}
		require.Equal(t, slices.Contains(f.set, key), k.set.Has(v, key), how)
	}
}
