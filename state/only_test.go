package state_test

import (
	"reflect"
	"testing"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// A state of one write reads, and is built on, like that of a transaction that
// began with nothing.
func TestOnly(t *testing.T) {
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
		{"elements behind a default", []state.Write{started.Put("b")}},
		{"no elements", []state.Write{list.Overwrite(nil)}},
		{"pruned", []state.Write{keyed.Put(item{"a", "1"}, item{"b", "2"}, item{"c", "3"})}},
		{"entries", []state.Write{entries.Put(map[string]int{"a": 1})}},
		{"an ephemeral value", []state.Write{once.Put(1)}},
		{"two writes", []state.Write{last.Put(1), list.Put("a")}},
		{"two writes of one channel", []state.Write{last.Put(1), last.Put(2)}},
	} {
		want, err := step(schema, schema.Empty(), false, test.writes)
		if err != nil {
			t.Fatal(err)
		}
		got, err := statecore.Only(used, test.writes)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if !reflect.DeepEqual(read(got), read(want)) {
			t.Errorf("%s: got %v, want %v", test.name, read(got), read(want))
		}
		more := []state.Write{last.Put(3), sum.Put(4), list.Put("more"), keyed.Put(item{"a", "9"})}
		before := read(got)
		if a, b := read(commit(t, schema, got, more...)), read(commit(t, schema, want, more...)); !reflect.DeepEqual(a, b) {
			t.Errorf("%s, built on: got %v, want %v", test.name, a, b)
		}
		if a, b := read(statecore.Overlay(schema, got, more)), read(statecore.Overlay(schema, want, more)); !reflect.DeepEqual(a, b) {
			t.Errorf("%s, with an overlay: got %v, want %v", test.name, a, b)
		}
		if after := read(got); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: it changed from %v to %v", test.name, before, after)
		}
	}
}

// A transaction that made such a state can go on with another, and is at its end
// until then.
func TestOnlyEnds(t *testing.T) {
	t.Parallel()
	list, other := state.Append[string]("list"), state.Last[int]("other")
	schema := schemaOf(t, list)
	base := commit(t, schema, schema.Empty(), list.Put("a"))
	tx := schema.Begin(base)
	first, err := statecore.Only(tx, []state.Write{list.Put("sent")})
	if err != nil {
		t.Fatal(err)
	}
	if err := statecore.Apply(tx, 0, []state.Write{list.Put("late")}); err == nil {
		t.Error("a write after Only was taken")
	}
	tx.Reset(base)
	if err := statecore.Apply(tx, 0, []state.Write{list.Put("b")}); err != nil {
		t.Fatal(err)
	}
	next, err := tx.Finish(true)
	if err != nil {
		t.Fatal(err)
	}
	got := [][]string{list.Get(first), list.Get(base), list.Get(next)}
	if want := [][]string{{"sent"}, {"a"}, {"a", "b"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var stored []string
	if err := tx.Changes(func(_ string, _ statecore.Kind, data []byte) { stored = append(stored, string(data)) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{`["b"]`}; !reflect.DeepEqual(stored, want) {
		t.Errorf("stored: got %v, want %v", stored, want)
	}

	_, err = statecore.Only(tx, []state.Write{other.Put(1)})
	channelErr(t, err, "other", state.ErrUnknownChannel)
	failing := state.NewChannel("failing", func(int, int) (int, error) { panic("no") })
	broken := schemaOf(t, failing)
	_, err = statecore.Only(broken.Begin(broken.Empty()), []state.Write{failing.Put(1)})
	channelErr(t, err, "failing", nil)
	v := must(statecore.Only(broken.Begin(broken.Empty()), []state.Write(nil)))
	defer func() {
		if recover() == nil {
			t.Error("a channel that the schema lacks could be read")
		}
	}()
	other.Get(v)
}
