package checkpoint_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// stepper puts supersteps such as an agent's: a message of 66 bytes and a sum.
type stepper struct {
	c checkpoint.Checkpoint
}

func newStepper(thread string) *stepper {
	message := []byte(`[{"id":"m-00000000","role":"tool","text":"0123456789abcdef01234"}]`)
	return &stepper{c: checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: thread},
		Source:  checkpoint.Loop,
		Run:     "0190b5e4-7c1a-7e2f-8a3b-000000000001",
		Version: "1",
		Control: []byte(`{"next":["tools"]}`),
		Changes: []checkpoint.Change{
			{Channel: "messages", Kind: 2, Data: message},
			{Channel: "tokens", Kind: 1, Data: []byte("1234")},
		},
	}}
}

func (s *stepper) put(store checkpoint.Store, id string) error {
	head := s.c.ID
	s.c.ID, s.c.Parent = id, head
	s.c.Step++
	return store.Put(context.Background(), s.c, head)
}

func uuid(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

func uuids(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid(i)
	}
	return ids
}

// BenchmarkMemoryPut puts threads of n steps; its heap-B/step is what one step
// keeps once garbage is collected.
func BenchmarkMemoryPut(b *testing.B) {
	for _, n := range []int{11, 100, 1000, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			ids := uuids(n)
			b.ReportAllocs()
			steps := 0
			for b.Loop() {
				store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
				s := newStepper("t")
				for _, id := range ids {
					if err := s.put(store, id); err != nil {
						b.Fatal(err)
					}
				}
				steps += n
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
			b.ReportMetric(heapPerStep(b, ids), "heap-B/step")
		})
	}
}

func heapPerStep(b *testing.B, ids []string) float64 {
	b.Helper()
	const threads = 32
	names := make([]string, threads)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	before := heapInUse()
	for _, name := range names {
		s := newStepper(name)
		for _, id := range ids {
			if err := s.put(store, id); err != nil {
				b.Fatal(err)
			}
		}
	}
	after := heapInUse()
	runtime.KeepAlive(store)
	return float64(after-before) / float64(threads*len(ids))
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemoryThreads starts threads of 11 steps from all processors.
func BenchmarkMemoryThreads(b *testing.B) {
	store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
	ids := uuids(11)
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			thread := strconv.FormatInt(n.Add(1), 10)
			s := newStepper(thread)
			for _, id := range ids {
				if err := s.put(store, id); err != nil {
					b.Error(err)
				}
			}
			if err := store.DeleteThread(context.Background(), thread); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkMemoryGet(b *testing.B) {
	for _, n := range []int{1, 100, 10000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			store := checkpoint.NewMemory(checkpoint.MemoryOptions{})
			s := newStepper("t")
			for _, id := range uuids(n) {
				if err := s.put(store, id); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := store.Get(context.Background(), checkpoint.Key{Thread: "t"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
