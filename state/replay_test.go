package state_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

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
func randomStep(t *testing.T, r *rand.Rand, all *kinds, schema *state.Schema, from moment) moment {
	t.Helper()
	superstep := r.IntN(2) == 0
	for {
		tx, failed := schema.Begin(from.view), error(nil)
		var writes []state.Write
		for range r.IntN(6) {
			w := all.random(r)
			if failed = tx.Apply(0, w); failed != nil {
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
			if over := all.dump(schema.Overlay(from.view, writes)); !reflect.DeepEqual(over, was) {
				t.Fatalf("the overlay of %v is %v, want %v", writes, over, was)
			}
		}
		return moment{v, was, stored}
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
					over := schema.Overlay(v, []state.Write{list.Put(-1), keyed.Put(item{Key: "over"})})
					if got, _ := list.Last(over); got != -1 || keyed.Len(over) != n+i+1 {
						t.Errorf("overlay: got %d and %d keyed", got, keyed.Len(over))
					}
					next, err := step(schema, v, true, []state.Write{list.Put(f*1000 + i), keyed.Put(element(f, i))})
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
		if list.Len(base) != n || keyed.Len(base) != n {
			t.Fatalf("the base has %d and %d elements, want %d", list.Len(base), keyed.Len(base), n)
		}
	}
}
