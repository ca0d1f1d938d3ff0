package state_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/weft-go/weft/state"
)

// doc has several kinds of references.
type doc struct {
	N    int            `json:"n"`
	Tags []string       `json:"tags"`
	Next *doc           `json:"next,omitempty"`
	More map[string]any `json:"more"`
}

// kinds has a channel of every kind.
type kinds struct {
	last      *state.Channel[doc, doc]
	any       *state.Channel[string, string]
	keep      *state.Channel[[]int, *[]int]
	sum       *state.Channel[int64, int64]
	max       *state.Channel[float64, float64]
	ephemeral *state.Channel[string, string]
	untracked *state.Channel[func(), func()]
	list      *state.ListChannel[doc]
	keyed     *state.KeyedChannel[item]
	set       *state.SetChannel[string]
	entries   *state.MapChannel[string, []int]
	custom    *state.Channel[[]string, string]
}

func newKinds() *kinds {
	return &kinds{
		last:      state.Last[doc]("last"),
		any:       state.LastWins[string]("any"),
		keep:      state.Optional[[]int]("keep"),
		sum:       state.Sum[int64]("sum"),
		max:       state.Max[float64]("max"),
		ephemeral: state.Ephemeral[string]("ephemeral"),
		untracked: state.Untracked[func()]("untracked"),
		list:      state.Append[doc]("list"),
		keyed:     state.Keyed("keyed", byKey{}),
		set:       state.Set[string]("set"),
		entries:   state.Map[string, []int]("entries"),
		// The reducer may append in place, since it gets a copy.
		custom: state.NewChannel("custom", func(current []string, update string) ([]string, error) {
			if len(current) > 6 {
				current = current[:3]
			}
			return append(current, update), nil
		}),
	}
}

func (k *kinds) handles() []state.Handle {
	return []state.Handle{k.last, k.any, k.keep, k.sum, k.max, k.ephemeral, k.untracked, k.list, k.keyed, k.set, k.entries, k.custom}
}

// fill returns writes that set a value in every channel.
func (k *kinds) fill() []state.Write {
	return []state.Write{
		k.last.Put(doc{N: 1, Tags: []string{"t"}, Next: &doc{N: 2}, More: map[string]any{"a": []any{"b", 1.0}}}),
		k.any.Put("any"), k.keep.Put(&[]int{1, 2}), k.sum.Put(1), k.max.Put(2), k.ephemeral.Put("now"), k.untracked.Put(func() {}),
		k.list.Put(doc{N: 1}, doc{N: 2, Tags: []string{}}), k.keyed.Put(item{"a", "1"}, item{"b", "2"}), k.set.Put("s", "t"),
		k.entries.Put(map[string][]int{"m": {1}, "n": nil}), k.custom.Put("c"),
	}
}

// dump returns the values of the stored channels of a state, copied deeply.
func (k *kinds) dump(v state.View) map[string]any {
	out := map[string]any{}
	put := func(name string, read func(state.View) (any, bool)) {
		if value, ok := read(v); ok {
			out[name] = value
		}
	}
	put("last", lookup(k.last))
	put("any", lookup(k.any))
	put("keep", lookup(k.keep))
	put("sum", lookup(k.sum))
	put("max", lookup(k.max))
	put("ephemeral", lookup(k.ephemeral))
	put("list", lookup(k.list))
	put("keyed", lookup(k.keyed))
	put("set", lookup(k.set))
	put("entries", lookup(k.entries))
	put("custom", lookup(k.custom))
	return out
}

// read calls every method of the channels that reads a state.
func (k *kinds) read(v state.View) int {
	n := len(k.dump(v)) + k.list.Len(v) + k.keyed.Len(v) + len(maps.Collect(k.list.All(v))) + len(maps.Collect(k.keyed.All(v)))
	k.list.Last(v)
	k.keyed.Last(v)
	k.keyed.Find(v, "k1")
	k.entries.Find(v, "k1")
	if k.set.Has(v, "k1") {
		n++
	}
	return n
}

// random returns a random write to a random channel.
func (k *kinds) random(r *rand.Rand) state.Write {
	key := func() string { return "k" + strconv.Itoa(r.IntN(40)) }
	text := func() string { return []string{"", "a", "\u2028é\"\\\n", "<b>&", "\x00\x7f"}[r.IntN(5)] }
	some := func() doc {
		d := doc{N: r.IntN(9), More: map[string]any{"x": text(), "y": []any{nil, true, float64(r.IntN(5))}}}
		if r.IntN(2) == 0 {
			d.Tags, d.Next = []string{text()}, &doc{N: 1, Tags: []string{}}
		}
		return d
	}
	items := func() []item {
		out := make([]item, r.IntN(4))
		for i := range out {
			out[i] = item{key(), text()}
		}
		return out
	}
	over := r.IntN(8) == 0
	switch r.IntN(12) {
	case 0:
		return pick(over, k.last.Overwrite(some()), k.last.Put(some(), some()))
	case 1:
		return pick(over, k.any.Overwrite(text()), k.any.Put(text()))
	case 2:
		return []state.Write{k.keep.Put(nil), k.keep.Put(&[]int{r.IntN(3)}), k.keep.Put(ref([]int(nil))), k.keep.Overwrite([]int{})}[r.IntN(4)]
	case 3:
		return pick(over, k.sum.Overwrite(1<<53+1), k.sum.Put(r.Int64N(9)-4))
	case 4:
		return pick(over, k.max.Overwrite(-r.Float64()), k.max.Put(r.Float64()*9))
	case 5:
		return k.ephemeral.Put(text())
	case 6:
		return pick(over, k.list.Overwrite([]doc{some()}), k.list.Put(some(), some()))
	case 7:
		return pick(over, k.keyed.Overwrite(items()), k.keyed.Put(items()...))
	case 8:
		return pick(over, k.keyed.Clear(), k.keyed.Remove(key(), key()))
	case 9:
		return []state.Write{k.set.Put(key(), key()), k.set.Remove(key()), k.set.Put(key()), k.set.Overwrite(slices.Repeat([]string{key()}, r.IntN(3)))}[r.IntN(4)]
	case 10:
		return []state.Write{k.entries.Put(map[string][]int{key(): {r.IntN(3)}, key(): nil}), k.entries.Remove(key(), key()), k.entries.Put(nil), k.entries.Overwrite(map[string][]int{key(): {}})}[r.IntN(4)]
	}
	return pick(over, k.custom.Overwrite([]string{text()}), k.custom.Put(text(), key()))
}

func pick[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
