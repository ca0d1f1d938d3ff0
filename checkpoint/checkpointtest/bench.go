package checkpointtest

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// Bench measures the stores that open returns: what a superstep costs at several
// lengths of a thread, which ought to be the same, what a pending write costs,
// loading, listing, and many threads at once.
func Bench(b *testing.B, open func(tb testing.TB) checkpoint.Store) {
	b.Run("Put", func(b *testing.B) {
		for _, n := range []int{0, 1000, 10000} {
			b.Run("after="+strconv.Itoa(n), func(b *testing.B) { benchPut(b, open(b), n) })
		}
	})
	b.Run("PutWrites", func(b *testing.B) { benchWrites(b, open(b)) })
	b.Run("Get", func(b *testing.B) {
		for _, n := range []int{1, 100, 10000} {
			b.Run("steps="+strconv.Itoa(n), func(b *testing.B) { benchGet(b, open(b), n) })
		}
	})
	b.Run("List", func(b *testing.B) { benchList(b, open(b)) })
	b.Run("Threads", func(b *testing.B) { benchThreads(b, open(b)) })
}

// A stepper puts supersteps such as an agent's: a message, and a sum.
type stepper struct {
	store checkpoint.Store
	c     checkpoint.Checkpoint
	made  int
}

func newStepper(store checkpoint.Store, thread string) *stepper {
	message := []byte(`[{"id":"m-00000000","role":"tool","text":"0123456789abcdef01234"}]`)
	return &stepper{store: store, c: checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: thread},
		Source:  checkpoint.Loop,
		Run:     uuid(1),
		Version: "1",
		Control: []byte(`{"next":["tools"]}`),
		Changes: []checkpoint.Change{
			{Channel: "messages", Kind: 2, Data: message},
			{Channel: "tokens", Kind: 1, Data: []byte("1234")},
		},
	}}
}

func (s *stepper) put(ctx context.Context) error {
	head := s.c.ID
	s.made++
	s.c.ID, s.c.Parent, s.c.Step = uuid(s.made), head, s.made
	return s.store.Put(ctx, s.c, head)
}

func (s *stepper) putMany(b *testing.B, n int) {
	b.Helper()
	for range n {
		if err := s.put(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchPut(b *testing.B, store checkpoint.Store, n int) {
	s := newStepper(store, "t")
	s.putMany(b, n)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.put(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchWrites(b *testing.B, store checkpoint.Store) {
	s := newStepper(store, "t")
	s.putMany(b, 1)
	data := []byte(`{"answer":"0123456789abcdef"}`)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		// Tasks end one by one; every ninth write settles, as a step would.
		if n%8 == 7 {
			s.c.Settles = true
			s.putMany(b, 1)
		}
		w := checkpoint.Write{Task: uuid(n % 8), Channel: "answer", Data: data}
		if err := store.PutWrites(b.Context(), s.c.Key, []checkpoint.Write{w}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchGet(b *testing.B, store checkpoint.Store, n int) {
	newStepper(store, "t").putMany(b, n)
	b.ReportAllocs()
	for b.Loop() {
		c, err := store.Get(b.Context(), checkpoint.Key{Thread: "t"})
		if err != nil || len(c.Lineage) != n {
			b.Fatalf("got %d deltas, error %v", len(c.Lineage), err)
		}
	}
}

func benchList(b *testing.B, store checkpoint.Store) {
	newStepper(store, "t").putMany(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range store.List(b.Context(), checkpoint.Query{Thread: "t", Limit: 100}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 100 {
			b.Fatalf("got %d want 100", n)
		}
	}
}

// benchThreads runs threads of 11 supersteps from all processors.
func benchThreads(b *testing.B, store checkpoint.Store) {
	var made atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			s := newStepper(store, fmt.Sprint("t", made.Add(1)))
			for range 11 {
				if err := s.put(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		}
	})
}
