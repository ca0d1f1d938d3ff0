package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// Records of all sizes, in and out of the shared chunks.
func TestMemorySizes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	random := rand.New(rand.NewPCG(1, 1))
	var put []checkpoint.Checkpoint
	head := ""
	for i := range 600 {
		c := checkpoint.Checkpoint{
			Key:     checkpoint.Key{Thread: "t", ID: uuid(i)},
			Parent:  head,
			Step:    i * 1000,
			Source:  checkpoint.Loop,
			Control: bytes.Repeat([]byte{byte(i)}, random.IntN(700)),
		}
		for range random.IntN(4) {
			size := random.IntN(1 << random.IntN(17))
			c.Changes = append(c.Changes, checkpoint.Change{
				Channel: "ch" + strconv.Itoa(random.IntN(30)), Kind: byte(i), Data: bytes.Repeat([]byte{byte(i), 1}, size/2),
			})
		}
		if i%50 == 7 {
			c.Snapshot = []checkpoint.Change{{Channel: "s", Data: make([]byte, random.IntN(40_000))}}
		}
		if err := store.Put(ctx, c, head); err != nil {
			t.Fatal(err)
		}
		put, head = append(put, c), c.ID
	}
	for _, want := range put {
		got, err := store.Get(ctx, want.Key)
		if err != nil {
			t.Fatal(err)
		}
		got.Time, got.Lineage = time.Time{}, nil
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("checkpoint %q differs", want.ID)
		}
	}
}

// Nil and empty are kept apart in memory, though no store has to.
func TestMemoryKeepsNil(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	want := checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: "t", ID: "1"},
		Control: []byte{},
		Changes: []checkpoint.Change{{Channel: "nil"}, {Channel: "empty", Data: []byte{}}},
	}
	if err := store.Put(ctx, want, ""); err != nil {
		t.Fatal(err)
	}
	got, err := store.Get(ctx, want.Key)
	if err != nil || !reflect.DeepEqual(got.Changes, want.Changes) || got.Control == nil || got.Snapshot != nil {
		t.Errorf("got %#v, %v want %#v", got, err, want)
	}
}

func TestMemoryTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
		s := newStepper("t")
		var want []time.Time
		for i, pause := range []time.Duration{0, time.Nanosecond, time.Millisecond, 99 * time.Millisecond, time.Second, 48 * time.Hour, time.Microsecond} {
			time.Sleep(pause)
			if err := s.put(store, uuid(i)); err != nil {
				t.Fatal(err)
			}
			want = append(want, time.Now().Round(0))
		}
		for i, w := range want {
			got, err := store.Get(ctx, checkpoint.Key{Thread: "t", ID: uuid(i)})
			if err != nil || !got.Time.Equal(w) {
				t.Errorf("time of step %d: got %v, %v want %v", i, got.Time, err, w)
			}
		}
		// A day ago were the first five.
		n, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepFor: 24 * time.Hour})
		if err != nil || n != 5 {
			t.Errorf("prune: got %d, %v want 5", n, err)
		}
		for info, err := range store.ListThreads(ctx, "") {
			if err != nil || info.Checkpoints != 2 || !info.Created.Equal(want[0]) || !info.Updated.Equal(want[6]) {
				t.Errorf("got %+v, %v", info, err)
			}
		}
	})
}

// Threads that are deleted, emptied, pruned and copied while others write to them
// lose nothing that was acknowledged after.
func TestMemoryChurn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	const rounds = 100
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := range rounds {
				churnPut(t, store, fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	wait.Go(func() {
		for i := range rounds {
			var err error
			switch i % 4 {
			case 0:
				err = store.DeleteThread(ctx, "t")
			case 1:
				err = store.DeleteRuns(ctx, "t", "0", "1", "2", "3")
			case 2:
				_, err = store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 3})
			case 3:
				if err = store.CopyThread(ctx, "t", "copy"+strconv.Itoa(i)); errors.Is(err, checkpoint.ErrNotFound) {
					err = nil
				}
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	wait.Go(func() {
		for range rounds {
			for _, err := range store.List(ctx, checkpoint.Query{Thread: "t", Writes: true}) {
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
	wait.Wait()
	if err := store.DeleteThread(ctx, "t"); err != nil {
		t.Error(err)
	}
	for info, err := range store.ListThreads(ctx, "t") {
		t.Errorf("%+v is left, error %v", info, err)
	}
}

// churnPut puts a checkpoint after whatever is the newest.
func churnPut(t *testing.T, store *checkpoint.Memory, id string) {
	ctx := context.Background()
	for {
		newest, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			t.Error(err)
			return
		}
		for i, d := range newest.Lineage {
			if string(d.Changes[0].Data) != d.ID {
				t.Errorf("delta %d of %q: got %q", i, d.ID, d.Changes[0].Data)
			}
		}
		c := checkpoint.Checkpoint{
			Key:     checkpoint.Key{Thread: "t", ID: id},
			Parent:  newest.ID,
			Run:     id[:1],
			Changes: []checkpoint.Change{{Channel: "id", Data: []byte(id)}},
		}
		err = store.Put(ctx, c, newest.ID)
		if err == nil {
			return
		}
		if !errors.Is(err, checkpoint.ErrConflict) {
			t.Error(err)
			return
		}
	}
}

// A listing goes on with what the thread held when it began, its pending writes
// included, whatever is removed meanwhile.
func TestMemoryListsWhatIsRemoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, remove := range map[string]func(*checkpoint.Memory) error{
		"deleted": func(m *checkpoint.Memory) error { return m.DeleteThread(ctx, "t") },
		"run":     func(m *checkpoint.Memory) error { return m.DeleteRuns(ctx, "t", "old") },
		"pruned": func(m *checkpoint.Memory) error {
			_, err := m.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 1})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
			for i, run := range []string{"old", "old", "new"} {
				c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: strconv.Itoa(i)}, Run: run}
				head := ""
				if i > 0 {
					head = strconv.Itoa(i - 1)
					c.Parent = head
				}
				if err := store.Put(ctx, c, head); err != nil {
					t.Fatal(err)
				}
				if err := store.PutWrites(ctx, c.Key, []checkpoint.Write{{Task: "task", Channel: "ch", Data: []byte(run)}}); err != nil {
					t.Fatal(err)
				}
			}
			seen := 0
			for c, err := range store.List(ctx, checkpoint.Query{Thread: "t", Writes: true}) {
				if err != nil || len(c.Writes) != 1 || string(c.Writes[0].Data) != c.Run {
					t.Errorf("%s: got writes %v, error %v", c.ID, c.Writes, err)
				}
				if seen++; seen == 1 {
					if err := remove(store); err != nil {
						t.Fatal(err)
					}
				}
			}
			if seen != 3 {
				t.Errorf("got %d checkpoints want 3", seen)
			}
		})
	}
}

// What is removed is let go of, also while a lease is held or a listing is under
// way. Not parallel: others would be counted too.
func TestMemoryLetsGo(t *testing.T) {
	ctx := context.Background()
	prune := func(t *testing.T, m *checkpoint.Memory) {
		for keep := 99; keep >= 1; keep-- {
			if n, err := m.Prune(ctx, checkpoint.PrunePolicy{KeepLast: keep}); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
	}
	for name, remove := range map[string]func(*testing.T, *checkpoint.Memory){
		"pruned beside a lease": prune,
		"deleted beside a lease": func(t *testing.T, m *checkpoint.Memory) {
			if err := m.DeleteThread(ctx, "t"); err != nil {
				t.Fatal(err)
			}
		},
		"pruned while it is listed": func(t *testing.T, m *checkpoint.Memory) {
			for _, err := range m.List(ctx, checkpoint.Query{Thread: "t"}) {
				if err != nil {
					t.Fatal(err)
				}
				before := heapInUse()
				prune(t, m)
				if after := heapInUse(); after > before+1<<20 {
					t.Errorf("%d bytes more are held while a listing is under way", after-before)
				}
				break
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
			lease, err := store.Lease(ctx, "t")
			if err != nil {
				t.Fatal(err)
			}
			before, head := heapInUse(), ""
			for i := range 100 {
				c := checkpoint.Checkpoint{
					Key: checkpoint.Key{Thread: "t", ID: uuid(i)}, Parent: head,
					Snapshot: []checkpoint.Change{{Channel: "c", Data: make([]byte, 64<<10)}},
				}
				if err := lease.Put(ctx, c, head); err != nil {
					t.Fatal(err)
				}
				head = c.ID
			}
			remove(t, store)
			if after := heapInUse(); after > before+1<<20 { // of 6.4 MB
				t.Errorf("%d bytes are kept", after-before)
			}
			runtime.KeepAlive(store)
			runtime.KeepAlive(lease)
		})
	}
}

// What a step of an agent costs in memory, however long the thread. Not parallel:
// others would be counted too.
func TestMemoryIsSmall(t *testing.T) {
	for _, n := range []int{100, 1000, 10000} {
		ids := uuids(n)
		names := make([]string, max(1, 20000/n))
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
		before := heapInUse()
		for _, name := range names {
			s := newStepper(name)
			for _, id := range ids {
				if err := s.put(store, id); err != nil {
					t.Fatal(err)
				}
			}
		}
		perStep := float64(heapInUse()-before) / float64(n*len(names))
		runtime.KeepAlive(store)
		t.Logf("%d steps: %.0f bytes a step, of which 70 are data", n, perStep)
		if perStep > 180 {
			t.Errorf("%d steps: got %.0f bytes a step want at most 180", n, perStep)
		}
	}
}
