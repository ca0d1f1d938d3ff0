package statecore_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

type note struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

type noteID struct{}

func (noteID) ID(n note) string              { return n.ID }
func (noteID) WithID(n note, id string) note { n.ID = id; return n }

// channels has channels of several kinds.
type channels struct {
	last     *state.Channel[string, string]
	optional *state.Channel[int, *int]
	sum      *state.Channel[int, int]
	custom   *state.Channel[string, int]
	list     *state.ListChannel[string]
	keyed    *state.KeyedChannel[note]
	set      *state.SetChannel[string]
	entries  *state.MapChannel[string, int]
	secret   *state.Channel[func(), func()]
}

func newChannels() channels {
	return channels{
		state.Last[string]("last"),
		state.Optional[int]("optional"),
		state.Sum[int]("sum"),
		state.NewChannel("custom", func(v string, n int) (string, error) { return v + strings.Repeat("x", n), nil }),
		state.Append[string]("list"),
		state.Keyed("keyed", noteID{}),
		state.Set[string]("set"),
		state.Map[string, int]("entries"),
		state.Untracked[func()]("secret"),
	}
}

func (c channels) handles() []state.Handle {
	return []state.Handle{c.last, c.optional, c.sum, c.custom, c.list, c.keyed, c.set, c.entries, c.secret}
}

func schemaOf(t *testing.T, handles ...state.Handle) *statecore.Schema {
	t.Helper()
	schema, err := statecore.NewSchema(handles...)
	require.NoError(t, err)
	return schema
}

// apply returns the state after a superstep in which one task makes the writes.
func apply[W statecore.Source](t *testing.T, s *statecore.Schema, v statecore.View, writes ...W) statecore.View {
	t.Helper()
	tx := s.Begin(v)
	require.NoError(t, statecore.Apply(tx, 0, writes))
	next, err := tx.Finish(true)
	require.NoError(t, err)
	return next
}

func texts(values map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for name, data := range values {
		out[name] = string(data)
	}
	return out
}

func raws(values map[string]string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, text := range values {
		out[name] = json.RawMessage(text)
	}
	return out
}

func TestValuesOfAViewAreReadBack(t *testing.T) {
	t.Parallel()
	c := newChannels()
	schema := schemaOf(t, c.handles()...)
	view := apply(t, schema, schema.Empty(),
		c.last.Put("a"), c.sum.Put(3), c.list.Put("x", "y"), c.keyed.Put(note{"n", "hi"}), c.set.Put("s"),
		c.entries.Put(map[string]int{"k": 1}), c.secret.Put(func() {}))
	want := map[string]string{
		"last": `"a"`, "sum": "3", "list": `["x","y"]`, "keyed": `[{"id":"n","text":"hi"}]`, "set": `["s"]`, "entries": `{"k":1}`,
	}
	overlay := statecore.Overlay(schema, apply(t, schema, view, c.list.Overwrite([]string{"x"})), []state.Write{c.list.Put("y")})
	for name, v := range map[string]statecore.View{"state": view, "overlay": overlay} {
		values, err := schema.ValuesOf(v)
		require.NoError(t, err, name)
		require.Equal(t, want, texts(values), name)
	}
	back, err := schema.ViewFromJSON(raws(want))
	require.NoError(t, err)
	again, err := statecore.ValuesOf(back)
	require.NoError(t, err)
	assert.Equal(t, want, texts(again))

	_, err = schema.ViewFromJSON(raws(map[string]string{"sum": `"x"`, "lust": `"a"`}))
	require.ErrorIs(t, err, state.ErrStored)
	require.ErrorIs(t, err, state.ErrUnknownChannel)
	assert.ErrorContains(t, err, `did you mean "last"?`)
}

func TestInputFromJSONReturnsWrites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		input map[string]string
		want  map[string]string
	}{
		{"nothing", nil, map[string]string{}},
		{
			"one update of each",
			map[string]string{"last": `"a"`, "optional": "5", "sum": "2", "custom": "3"},
			map[string]string{"last": `"a"`, "optional": "5", "sum": "2", "custom": `"xxx"`},
		},
		{"no optional update", map[string]string{"optional": " null "}, map[string]string{}},
		{
			"one element",
			map[string]string{"list": `"x"`, "set": `"s"`, "keyed": `{"id":"n","text":"hi"}`},
			map[string]string{"list": `["x"]`, "set": `["s"]`, "keyed": `[{"id":"n","text":"hi"}]`},
		},
		{
			"elements",
			map[string]string{"list": `["x","y"]`, "set": `["s","s"]`, "keyed": `[{"id":"n"},{"id":"m"}]`},
			map[string]string{"list": `["x","y"]`, "set": `["s"]`, "keyed": `[{"id":"n","text":""},{"id":"m","text":""}]`},
		},
		{"no elements", map[string]string{"list": `[]`, "set": `null`, "keyed": `[]`, "entries": `null`}, map[string]string{}},
		{"entries", map[string]string{"entries": `{"a":1,"b":2}`}, map[string]string{"entries": `{"a":1,"b":2}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			schema := schemaOf(t, newChannels().handles()...)
			writes, err := schema.InputFromJSON(raws(test.input))
			require.NoError(t, err)
			values, err := schema.ValuesOf(apply(t, schema, schema.Empty(), writes...))
			require.NoError(t, err)
			assert.Equal(t, test.want, texts(values))
		})
	}
}

func TestInputFromJSONAddsMissingIDsToElements(t *testing.T) {
	t.Parallel()
	c := newChannels()
	schema := schemaOf(t, c.handles()...)
	writes, err := schema.InputFromJSON(raws(map[string]string{"keyed": `{"text":"hi"}`}))
	require.NoError(t, err)
	got := c.keyed.Get(apply(t, schema, schema.Empty(), writes...))
	require.Len(t, got, 1)
	assert.NotEmpty(t, got[0].ID)
}

func TestInputFromJSONReportsEveryMistake(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, newChannels().handles()...)
	for channel, test := range map[string]struct{ text, want string }{
		"sums":    {`1`, `state: channel "sums": the graph does not have this channel; did you mean "sum"?`},
		"weather": {`1`, `state: channel "weather": the graph does not have this channel`},
		"sum":     {`"x"`, `state: channel "sum": the JSON is not an int: json: cannot unmarshal string into Go value of type int`},
		"last":    {`"a","b"`, `it is not one JSON value`},
		"list":    {`["x",1]`, `cannot unmarshal number`},
		"keyed":   {`7`, `cannot unmarshal number`},
		"entries": {`[]`, `cannot unmarshal array`},
		"secret":  {`1`, `cannot be set from JSON`},
	} {
		_, err := schema.InputFromJSON(raws(map[string]string{channel: test.text}))
		require.ErrorContains(t, err, test.want)
		ce, ok := errors.AsType[*state.ChannelError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, channel, ce.Channel)
		assert.NotErrorIs(t, err, state.ErrStored, "input is not stored data")
	}
	_, err := schema.InputFromJSON(raws(map[string]string{"sum": `"x"`, "last": `1`}))
	assert.ErrorContains(t, err, `"sum"`)
	assert.ErrorContains(t, err, `"last"`)
}

func TestWritesAreDescribedAsJSONAndText(t *testing.T) {
	t.Parallel()
	c, three := newChannels(), 3
	long := strings.Repeat("é", 100)
	for _, test := range []struct {
		write      state.Write
		json, text string
	}{
		{c.last.Put("a"), `{"channel":"last","op":"update","value":"a"}`, `update last: "a"`},
		{c.last.Overwrite("a"), `{"channel":"last","op":"overwrite","value":"a"}`, `overwrite last: "a"`},
		{c.optional.Put(&three), `{"channel":"optional","op":"update","value":3}`, `update optional: 3`},
		{c.sum.Put(1, 2), `{"channel":"sum","op":"update","value":[1,2]}`, `update sum: [1,2]`},
		{c.list.Put("x"), `{"channel":"list","op":"append","value":["x"]}`, `append list: ["x"]`},
		{c.keyed.Put(note{"n", "t"}), `{"channel":"keyed","op":"put","value":[{"id":"n","text":"t"}]}`, `put keyed: [{"id":"n","text":"t"}]`},
		{c.keyed.Remove("n"), `{"channel":"keyed","op":"remove","value":["n"]}`, `remove keyed: ["n"]`},
		{c.keyed.Clear(), `{"channel":"keyed","op":"clear"}`, `clear keyed`},
		{c.entries.Remove("b", "a"), `{"channel":"entries","op":"remove","value":["a","b"]}`, `remove entries: ["a","b"]`},
		{c.secret.Put(func() {}), `{"channel":"secret","op":"update"}`, `update secret`},
		{state.Write{Write: statecore.SignalWrite(jump("x"))}, `{"signal":"to x"}`, `to x`},
		{state.Write{}, `{}`, `nothing`},
		{c.last.Put(long), `{"channel":"last","op":"update","value":"` + long + `"}`, `update last: "` + long[:58] + `…`},
		{c.last.Put("\xff"), ``, `update last`},
	} {
		assert.Equal(t, test.text, test.write.String())
		data, err := json.Marshal(test.write)
		if test.json == "" {
			require.ErrorIs(t, err, state.ErrRoundTrip)
			continue
		}
		require.NoError(t, err, test.text)
		assert.JSONEq(t, test.json, string(data))
	}
}

type jump string

func (j jump) Signal() string { return "to " + string(j) }

func TestErrorOfAnUnknownChannelContainsAdvice(t *testing.T) {
	t.Parallel()
	mine, other := state.Last[int]("count"), state.Last[int]("count")
	schema := schemaOf(t, mine, state.Last[int]("status"))
	const shared = `state: channel "count": the graph does not have this channel; the graph has another channel of this name: declare the channel once and share the handle`
	assert.PanicsWithError(t, shared, func() { other.Get(schema.Empty()) })
	assert.EqualError(t, statecore.Apply(schema.Begin(schema.Empty()), 0, []state.Write{other.Put(1)}), shared)
	_, err := statecore.Only(schema.NewTx(), []state.Write{other.Put(1)})
	assert.EqualError(t, err, shared)
	_, _, _, err = schema.EncodeWrite(other.Put(1).Core())
	assert.EqualError(t, err, shared)

	_, err = schema.DecodeWrite("Stauts", statecore.KindUpdate, []byte("[1]"))
	require.ErrorIs(t, err, state.ErrUnknownChannel)
	assert.ErrorContains(t, err, `did you mean "status"?`)
	assert.NotContains(t, schema.Replay(nil).Apply("weather", statecore.KindSet, nil).Error(), "did you mean")
}

// TestErrorOfOtherKindNamesTheWayOut proves that the error for data of a channel of another kind advises to give the
// new kind a channel with another name.
func TestErrorOfOtherKindNamesTheWayOut(t *testing.T) {
	t.Parallel()
	up := func(old json.RawMessage) (json.RawMessage, error) { return old, nil }
	for name, test := range map[string]struct {
		channel state.Handle
		kind    statecore.Kind
		data    string
	}{
		"append to last": {state.Last[string]("c").Upgrade(up), statecore.KindAppend, `["a"]`},
		"append to set":  {state.Set[string]("c").Upgrade(up), statecore.KindAppend, `["a"]`},
		"set to append":  {state.Append[string]("c").Upgrade(up), statecore.KindPut, `["a"]`},
		"map to last":    {state.Last[string]("c").Upgrade(up), statecore.KindMerge, `{"k":"a"}`},
		"append to map":  {state.Map[string, string]("c").Upgrade(up), statecore.KindAppend, `["a"]`},
		"last to append": {state.Append[string]("c").Upgrade(up), statecore.KindSet, `"a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := schemaOf(t, test.channel).Replay(nil).Apply("c", test.kind, []byte(test.data))
			require.ErrorIs(t, err, state.ErrStored)
			assert.ErrorContains(t, err, "give the new kind a channel with another name")
		})
	}
}

func TestCheckReturnsTheErrorOfChanges(t *testing.T) {
	t.Parallel()
	anything, list, plain := state.Last[any]("any"), state.Append[map[string]any]("list"), state.Last[string]("plain")
	entries, secret := state.Map[string, any]("entries"), state.Untracked[any]("secret")
	schema := schemaOf(t, anything, list, plain, entries, secret)
	for _, test := range []struct {
		name  string
		write state.Write
		bad   bool
	}{
		{"an int in an any", anything.Put(1), true},
		{"a float in an any", anything.Put(1.0), false},
		{"an int in a list element", list.Put(map[string]any{"n": 1}), true},
		{"an int in a map entry", entries.Put(map[string]any{"n": 1}), true},
		{"an untracked channel", secret.Put(1), false},
		{"a string", plain.Put("a"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tx := schema.Begin(schema.Empty())
			require.NoError(t, statecore.Apply(tx, 0, []state.Write{test.write}))
			_, err := tx.Finish(true)
			require.NoError(t, err)
			stored := tx.Changes(func(string, statecore.Kind, []byte) {})
			checked := tx.Check()
			assert.Equal(t, stored, checked, "Check and Changes differ")
			if test.bad {
				require.ErrorIs(t, checked, state.ErrRoundTrip)
			} else {
				require.NoError(t, checked)
			}
		})
	}
}

func TestCheckOfPlainChannelsDoesNotAllocate(t *testing.T) { // not parallel: it counts allocations
	list, sum := state.Append[string]("list"), state.Sum[int]("sum")
	schema := schemaOf(t, list, sum)
	tx := schema.Begin(schema.Empty())
	require.NoError(t, statecore.Apply(tx, 0, []state.Write{list.Put("a"), sum.Put(1)}))
	_, err := tx.Finish(true)
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := tx.Check(); err != nil {
			t.Error(err)
		}
	}))
}

func TestTimesAreTheSameBeforeAndAfterARestart(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	type event struct {
		At    time.Time            `json:"at"`
		Until *time.Time           `json:"until"`
		Days  []time.Time          `json:"days"`
		By    map[string]time.Time `json:"by"`
		Next  *event               `json:"next"`
	}
	winter := time.Date(2026, 1, 10, 9, 0, 0, 0, berlin)
	for name, at := range map[string]time.Time{
		"UTC": winter.UTC(), "named zone": winter, "local": time.Now(), "fixed": winter.In(time.FixedZone("home", 3600)),
	} {
		given := event{At: at, Until: &at, Days: []time.Time{at}, By: map[string]time.Time{"k": at}, Next: &event{At: at}}
		events, single := state.Append[event]("events"), state.Last[time.Time]("single")
		schema := schemaOf(t, events, single)
		tx := schema.Begin(schema.Empty())
		require.NoError(t, statecore.Apply(tx, 0, []state.Write{events.Put(given), single.Put(at)}))
		before, err := tx.Finish(true)
		require.NoError(t, err)
		r := schema.Replay(nil)
		require.NoError(t, tx.Changes(func(c string, k statecore.Kind, data []byte) { require.NoError(t, r.Apply(c, k, data)) }))
		after := r.View()

		assert.Equal(t, events.Get(before), events.Get(after), name)
		assert.Equal(t, single.Get(before), single.Get(after), name)
		got := single.Get(before)
		assert.True(t, got.Equal(at), name)
		assert.Equal(t, at.Format(time.RFC3339Nano), got.Format(time.RFC3339Nano), "the offset of %s", name)
		assert.Equal(t, got.AddDate(0, 6, 0), single.Get(after).AddDate(0, 6, 0), name)
		if name == "named zone" {
			assert.Same(t, berlin, given.Days[0].Location(), "the caller's value has changed")
			assert.NotEqual(t, "Europe/Berlin", got.Location().String())
		}
		if name == "UTC" {
			assert.Equal(t, at, got)
		}
	}
}

func TestJSONSchemaDoesNotDependOnTheOrderOfChannels(t *testing.T) {
	t.Parallel()
	handles := newChannels().handles()
	forward := schemaOf(t, handles...)
	slices.Reverse(handles)
	assert.JSONEq(t, string(forward.JSONSchema()), string(schemaOf(t, handles...).JSONSchema()))
}

func TestJSONSchemaOfValuesAndInput(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, newChannels().handles()...)
	var values, input map[string]any
	require.NoError(t, json.Unmarshal(schema.JSONSchema(), &values))
	require.NoError(t, json.Unmarshal(schema.InputJSONSchema(), &input))
	assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", values["$schema"])
	assert.Equal(t, []string{"custom", "entries", "keyed", "last", "list", "optional", "set", "sum"},
		slices.Sorted(maps.Keys(values["properties"].(map[string]any))), "untracked channels are left out")
	part := func(of map[string]any, name string) string {
		data, err := json.Marshal(of["properties"].(map[string]any)[name])
		require.NoError(t, err)
		return string(data)
	}
	assert.JSONEq(t, `{"type":["array","null"],"items":{"$ref":"#/$defs/note"}}`, part(values, "keyed"))
	assert.JSONEq(t, `{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/note"}},{"$ref":"#/$defs/note"}]}`, part(input, "keyed"))
	assert.JSONEq(t, `{"type":["integer","null"]}`, part(input, "optional"))
	assert.JSONEq(t, `{"type":"integer"}`, part(values, "optional"))
	assert.JSONEq(t, `{"type":"integer"}`, part(input, "custom"))
	assert.JSONEq(t, `{"type":"string"}`, part(values, "custom"))
	assert.JSONEq(t, `{"type":["object","null"],"additionalProperties":{"type":"integer"}}`, part(input, "entries"))
}

func TestNewTransactionNeedsABegin(t *testing.T) {
	t.Parallel()
	c := newChannels()
	schema := schemaOf(t, c.handles()...)
	assert.False(t, schema.HasEphemeral())
	assert.True(t, schemaOf(t, c.last, state.Ephemeral[int]("hint")).HasEphemeral())

	tx := schema.NewTx()
	require.Error(t, statecore.Apply(tx, 0, []state.Write{c.last.Put("a")}), "a write before Begin")
	tx.Begin(schema, schema.Empty())
	require.NoError(t, statecore.Apply(tx, 0, []state.Write{c.last.Put("a")}))
	v, err := tx.Finish(true)
	require.NoError(t, err)
	assert.Equal(t, "a", c.last.Get(v))
}
