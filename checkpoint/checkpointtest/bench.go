package checkpointtest

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// Bench measures the stores that open returns. It measures Put for threads of several
// lengths, PutWrites for several numbers of pending writes, Get, List, and concurrent writers
// of different threads. The cost of Put should not grow with the length of the thread, and
// the cost of PutWrites should not grow with the number of pending writes.
func Bench(b *testing.B, open func(tb testing.TB) checkpoint.Store) {
	b.Run("Put", func(b *testing.B) {
		for _, n := range []int{0, 1000, 10000} {
			b.Run("after="+strconv.Itoa(n), func(b *testing.B) { benchPut(b, open(b), n) })
		}
	})
	b.Run("PutWrites", func(b *testing.B) { benchWrites(b, open(b)) })
	b.Run("PutWrites/pending", func(b *testing.B) {
		for _, n := range []int{1000, 100_000} {
			b.Run(strconv.Itoa(n), func(b *testing.B) { benchManyWrites(b, open(b), n) })
		}
	})
	b.Run("Get", func(b *testing.B) {
		for _, n := range []int{1, 100, 10000} {
			b.Run("steps="+strconv.Itoa(n), func(b *testing.B) { benchGet(b, open(b), n) })
		}
	})
	b.Run("List", func(b *testing.B) { benchList(b, open(b)) })
	b.Run("Threads", func(b *testing.B) { benchThreads(b, open(b)) })
}

// A stepper puts checkpoints that resemble the supersteps of an agent. Each has a message
// and a number.
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
		// Put a checkpoint once every eight writes, like supersteps of eight tasks.
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

// benchManyWrites puts n pending writes one by one, and reports the time of one write.
func benchManyWrites(b *testing.B, store checkpoint.Store, n int) {
	s := newStepper(store, "t")
	data := []byte(`{"answer":"0123456789abcdef"}`)
	b.ReportAllocs()
	for b.Loop() {
		s.putMany(b, 1)
		for i := range n {
			w := checkpoint.Write{Task: "task", Index: i, Channel: "answer", Data: data}
			if err := store.PutWrites(b.Context(), s.c.Key, []checkpoint.Write{w}); err != nil {
				b.Fatal(err)
			}
		}
		s.c.Settles = true
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/write")
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

// benchThreads creates threads of 11 checkpoints on all processors.
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
