package state_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// moment is a state with a copy of its values, which was made before any later step.
type moment struct {
	view   state.View
	was    map[string]any
	stored []change // all changes since the empty state
}

// TestReplayedStatesEqualTheirOriginals makes random steps from random earlier states. It
// proves that each state can be rebuilt from all changes, and from a snapshot and the later
// changes. It also proves that no state changes while goroutines read the states.
func TestReplayedStatesEqualTheirOriginals(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			replayIsLive(t, rand.New(rand.NewPCG(seed, 17)), 150)
		})
	}
}

func replayIsLive(t *testing.T, r *rand.Rand, steps int) {
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	history := []moment{{view: schema.Empty(), was: all.dump(schema.Empty())}}
	var readers sync.WaitGroup
	for range steps {
		from := history[len(history)-1]
		if r.IntN(4) == 0 {
			from = history[r.IntN(len(history))]
		}
		readers.Go(func() { all.read(from.view) })
		next := randomStep(t, r, all, schema, from)
		for how, v := range map[string]state.View{
			"all changes": replayed(t, schema, nil, next.stored...),
			"a snapshot and the changes since": replayed(t, schema, nil,
				slices.Concat(snapshot(t, schema, from.view), next.stored[len(from.stored):])...),
			"the state before and the changes since": replayed(t, schema, from.view, next.stored[len(from.stored):]...),
			"a snapshot":                             replayed(t, schema, nil, snapshot(t, schema, next.view)...),
		} {
			require.Equal(t, next.was, all.dump(v), "from %s", how)
		}
		history = append(history, next)
	}
	readers.Wait()
	for i, m := range history {
		assert.Equal(t, m.was, all.dump(m.view), "state %d of %d changed", i, len(history))
	}
}

// randomStep makes a superstep or an edit with random writes.
// An overlay with the writes of an edit must have the same values.
func randomStep(t *testing.T, r *rand.Rand, all *kinds, schema *statecore.Schema, from moment) moment {
	t.Helper()
	superstep := r.IntN(2) == 0
	for {
		tx, failed := schema.Begin(from.view), error(nil)
		var writes []state.Write
		for range r.IntN(6) {
			w := all.random(r)
			if failed = statecore.Apply(tx, 0, []state.Write{w}); failed != nil {
				break
			}
			writes = append(writes, w)
		}
		require.NoError(t, failed)
		if r.IntN(10) == 0 {
			continue // unfinished, as after an error of another task
		}
		v, err := tx.Finish(superstep)
		require.NoError(t, err)
		stored := slices.Clip(from.stored)
		require.NoError(t, tx.Changes(collect(&stored)))
		was := all.dump(v)
		if !superstep {
			require.Equal(t, was, all.dump(statecore.Overlay(schema, from.view, writes)))
		}
		return moment{v, was, stored}
	}
}

// TestLookupsInAListWhoseTableWasTaken proves that a list is still correct after a newer list
// has taken the table of positions from their shared buffer.
func TestLookupsInAListWhoseTableWasTaken(t *testing.T) {
	t.Parallel()
	keyed := state.Keyed("keyed", byKey{})
	schema := schemaOf(t, keyed)
	var items []item
	for i := range 100 {
		items = append(items, item{Key: fmt.Sprint(i)})
	}
	base := commit(t, schema, schema.Empty(), keyed.Put(items...))
	commit(t, schema, base, keyed.Put(item{"7", "replaced"}), keyed.Put(item{Key: "new"}), keyed.Put(item{Key: "newer"}))
	other := commit(t, schema, base, keyed.Put(item{"newer", "first here"}))
	e, ok := keyed.Last(other)
	assert.True(t, ok)
	assert.Equal(t, (item{"newer", "first here"}), e)
	assert.Equal(t, 101, keyed.Len(other))
	_, ok = keyed.Find(base, "new")
	assert.False(t, ok)
}

// TestReadingAnOverlayDoesNotCopyTheList proves that a read of the last element of an overlay
// neither copies a long list nor appends to its buffer.
func TestReadingAnOverlayDoesNotCopyTheList(t *testing.T) { // not parallel: it counts bytes
	list, keyed := state.Append[int]("list"), state.Keyed("keyed", byKey{})
	schema := schemaOf(t, list, keyed)
	const n = 50_000
	items := make([]item, n)
	for i := range items {
		items[i].Key = fmt.Sprint(i)
	}
	v := commit(t, schema, schema.Empty(), list.Overwrite(make([]int, n)), keyed.Overwrite(items))
	writes := []state.Write{list.Put(1), keyed.Put(item{Key: "new"})}
	v = commit(t, schema, v, list.Put(0), keyed.Put(item{Key: "there is room now"}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const times = 100
	for i := range times {
		over := statecore.Overlay(schema, v, writes)
		last, _ := list.Last(over)
		require.Equal(t, 1, last)
		require.Equal(t, keyed.Len(v)+1, keyed.Len(over))
		v = commit(t, schema, v, list.Put(i), keyed.Put(item{Key: fmt.Sprint("more", i)}))
	}
	runtime.ReadMemStats(&after)
	assert.LessOrEqual(t, (after.TotalAlloc-before.TotalAlloc)/times, uint64(n))
}

// TestForksOfAListAreIndependent proves that goroutines can append to forks of one list
// concurrently, without an effect on the other forks.
func TestForksOfAListAreIndependent(t *testing.T) {
	t.Parallel()
	list, keyed := state.Append[int]("list"), state.Keyed("keyed", byKey{})
	schema := schemaOf(t, list, keyed)
	element := func(fork, i int) item { return item{fmt.Sprint("k", i), fmt.Sprint("fork", fork)} }
	for _, n := range []int{0, 1, 3, 4, 5, 100} {
		base := schema.Empty()
		for i := range n {
			base = commit(t, schema, base, list.Put(i), keyed.Put(item{Key: fmt.Sprint("base", i)}))
		}
		const forks, more = 4, 20
		var wg sync.WaitGroup
		ends := make([]state.View, forks)
		for f := range forks {
			wg.Go(func() {
				v := base
				for i := range more {
					over := statecore.Overlay(schema, v, []state.Write{list.Put(-1), keyed.Put(item{Key: "over"})})
					newest, _ := list.Last(over)
					assert.Equal(t, -1, newest)
					assert.Equal(t, n+i+1, keyed.Len(over))
					writes := []state.Write{list.Put(f*1000 + i), keyed.Put(element(f, i))}
					if n > 0 {
						writes = append(writes, keyed.Put(item{"base0", fmt.Sprint(f, i)}))
					}
					next, err := step(schema, v, true, writes)
					if !assert.NoError(t, err) {
						return
					}
					v = next
				}
				ends[f] = v
			})
		}
		wg.Wait()
		for f, v := range ends {
			got, keys := list.Get(v), keyed.Get(v)
			require.Len(t, got, n+more)
			require.Len(t, keys, n+more)
			for i := range more {
				require.Equal(t, f*1000+i, got[n+i])
				require.Equal(t, element(f, i), keys[n+i])
			}
		}
		e, _ := keyed.Find(base, "base0")
		require.Equal(t, n, list.Len(base))
		require.Equal(t, n, keyed.Len(base))
		require.Empty(t, e.Text)
	}
}

// TestKindsThatStoreWholeValuesReadEachOther proves that each kind of channel that stores whole values reads the values and
// pending writes of the other kinds that do so.
func TestKindsThatStoreWholeValuesReadEachOther(t *testing.T) {
	t.Parallel()
	custom := func(_, update int) (int, error) { return update, nil }
	kinds := []func() state.Handle{
		func() state.Handle { return state.Last[int]("c") },
		func() state.Handle { return state.LastWins[int]("c") },
		func() state.Handle { return state.Optional[int]("c") },
		func() state.Handle { return state.Sum[int]("c") },
		func() state.Handle { return state.Max[int]("c") },
		func() state.Handle { return state.Ephemeral[int]("c") },
		func() state.Handle { return state.NewChannel("c", custom) },
	}
	for _, stores := range kinds {
		for _, reads := range kinds {
			from, to := schemaOf(t, stores()), schemaOf(t, reads())
			write, err := from.DecodeWrite("c", statecore.KindUpdate, []byte("[7]"))
			require.NoError(t, err)
			before, stored := changes(t, from, from.Empty(), state.Write{Write: write})
			want, err := state.Values(before)
			require.NoError(t, err)
			got, err := state.Values(replayed(t, to, nil, stored...))
			require.NoError(t, err)
			require.Equal(t, want, got, "%s read by %s", from.Describe()[0].Kind, to.Describe()[0].Kind)

			kind, data, ok, err := from.EncodeWrite(write)
			require.NoError(t, err)
			require.True(t, ok)
			_, err = to.DecodeWrite("c", kind, data)
			require.NoError(t, err)
		}
	}
}
