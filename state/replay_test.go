package state_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// moment is a state on a branch of a history, with what it was when it was new.
type moment struct {
	view   state.View
	was    map[string]any
	stored []change // from nothing
}

// TestReplayIsLive makes random steps on random earlier states. Each state is
// rebuilt from all its changes, and from a snapshot and the changes since; and
// in the end, with readers about all the time, each is what it was.
func TestReplayIsLive(t *testing.T) {
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
			if got := all.dump(v); !reflect.DeepEqual(got, next.was) {
				t.Fatalf("from %s:\ngot  %v\nwant %v", how, got, next.was)
			}
		}
		history = append(history, next)
	}
	readers.Wait()
	for i, m := range history {
		if got := all.dump(m.view); !reflect.DeepEqual(got, m.was) {
			t.Errorf("state %d of %d changed:\ngot  %v\nwant %v", i, len(history), got, m.was)
		}
	}
}

// randomStep is a superstep or an edit of some tasks. The same as an overlay of
// one task must look the same.
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
		if failed != nil {
			t.Fatalf("Apply: %v", failed)
		}
		if r.IntN(10) == 0 {
			continue // abandoned, as by a sibling's error
		}
		v, err := tx.Finish(superstep)
		if err != nil {
			t.Fatalf("Finish: %v", err)
		}
		stored := slices.Clip(from.stored)
		if err := tx.Changes(collect(&stored)); err != nil {
			t.Fatalf("Changes: %v", err)
		}
		was := all.dump(v)
		if !superstep {
			if over := all.dump(statecore.Overlay(schema, from.view, writes)); !reflect.DeepEqual(over, was) {
				t.Fatalf("the overlay of %v is %v, want %v", writes, over, was)
			}
		}
		return moment{v, was, stored}
	}
}

// TestTableGoesWithTheNewerList has an older state use a table of positions that
// a newer one took along.
func TestTableGoesWithTheNewerList(t *testing.T) {
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
	if e, ok := keyed.Last(other); !ok || e != (item{"newer", "first here"}) || keyed.Len(other) != 101 {
		t.Errorf("got %v as the last of %d", e, keyed.Len(other))
	}
	if _, ok := keyed.Find(base, "new"); ok {
		t.Error("the older state finds what is only in the newer")
	}
}

// TestReadingAnOverlayIsCheap looks at the end of long lists as a branch does:
// without a copy, and without claiming the place that the step itself will use.
func TestReadingAnOverlayIsCheap(t *testing.T) { // not parallel: it counts bytes
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
		if last, _ := list.Last(over); last != 1 || keyed.Len(over) != keyed.Len(v)+1 {
			t.Fatal("the overlay lacks what was written")
		}
		v = commit(t, schema, v, list.Put(i), keyed.Put(item{Key: fmt.Sprint("more", i)}))
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / times; got > n {
		t.Errorf("a branch and a step take %d bytes, as if something were copied", got)
	}
}

// TestForksShareNothing grows two lists from one, by turns and at once.
func TestForksShareNothing(t *testing.T) {
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
					if got, _ := list.Last(over); got != -1 || keyed.Len(over) != n+i+1 {
						t.Errorf("overlay: got %d and %d keyed", got, keyed.Len(over))
					}
					writes := []state.Write{list.Put(f*1000 + i), keyed.Put(element(f, i))}
					if n > 0 {
						writes = append(writes, keyed.Put(item{"base0", fmt.Sprint(f, i)}))
					}
					next, err := step(schema, v, true, writes)
					if err != nil {
						t.Error(err)
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
			if len(got) != n+more || len(keys) != n+more {
				t.Fatalf("fork %d has %d and %d elements, want %d", f, len(got), len(keys), n+more)
			}
			for i := range more {
				if got[n+i] != f*1000+i || keys[n+i] != element(f, i) {
					t.Fatalf("fork %d, element %d is %d and %v", f, i, got[n+i], keys[n+i])
				}
			}
		}
		if e, _ := keyed.Find(base, "base0"); list.Len(base) != n || keyed.Len(base) != n || e.Text != "" {
			t.Fatalf("the base has %d and %d elements, want %d, and the first is %v", list.Len(base), keyed.Len(base), n, e)
		}
	}
}
