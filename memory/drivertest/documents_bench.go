package drivertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-go/weft/memory/driver"
)

// BenchDocuments measures the stores that open returns: replacing sources of a hundred chunks with vectors,
// one and ten per change, replacing a source whose chunks are all kept, and searching by words, by a vector
// and by both.
func BenchDocuments(b *testing.B, open func(tb testing.TB) driver.DocumentStore) {
	for _, n := range []int{1, 10} {
		b.Run(fmt.Sprintf("Swap/sources=%d", n), func(b *testing.B) {
			k := newBenchShelf(b, open)
			b.ReportAllocs()
			for b.Loop() {
				k.swap(acme, k.swaps(n)...)
			}
			b.ReportMetric(float64(n*benchChunks*b.N)/b.Elapsed().Seconds(), "chunks/s")
		})
	}
	b.Run("Swap/kept", func(b *testing.B) {
		k := newBenchShelf(b, open)
		s := k.swaps(1)[0]
		k.swap(acme, s)
		for i, r := range s.Chunks {
			s.Chunks[i] = kept(r)
		}
		for b.Loop() {
			s.Source.Revision++
			k.swap(acme, s)
		}
	})
	b.Run("Search", func(b *testing.B) {
		k := newBenchShelf(b, open)
		for range 10 {
			k.swap(acme, k.swaps(10)...)
		}
		q := driver.ChunkSearch{Query: driver.SourceQuery{Reach: acme.Only()}, Limit: 100}
		for _, leg := range []string{"words", "vector", "both"} {
			b.Run(leg, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					s := q
					if leg != "vector" {
						words := k.words(8)
						slices.Sort(words)
						s.Terms = slices.Compact(words)
					}
					if leg != "words" {
						s.Model, s.Embedding = "m", k.vector()
					}
					k.search(s)
				}
			})
		}
	})
}

const (
	benchChunks      = 100
	passageDimension = 256
)

type benchShelf struct {
	*documentKit
	rand *rand.Rand
	zipf *rand.Zipf
}

func newBenchShelf(b *testing.B, open func(tb testing.TB) driver.DocumentStore) *benchShelf {
	r := rand.New(rand.NewPCG(1, 2))
	return &benchShelf{&documentKit{TB: b, store: open(b), ctx: b.Context()}, r, rand.NewZipf(r, 1.1, 8, 20_000)}
}

func (k *benchShelf) words(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("w%d", k.zipf.Uint64())
	}
	return list
}

func (k *benchShelf) vector() []float32 {
	v := make([]float32, passageDimension)
	for i := range v {
		v[i] = float32(k.rand.NormFloat64())
	}
	return v
}

// swaps returns swaps for new sources.
func (k *benchShelf) swaps(n int) []driver.SourceSwap {
	list := make([]driver.SourceSwap, n)
	for i := range list {
		s := k.source(fmt.Sprintf("source %d", k.made))
		var chunks []driver.ChunkRecord
		for ordinal := range benchChunks {
			r := passage(s.URI, fmt.Sprintf("chunk %d %1000d", ordinal, k.rand.Uint64()), ordinal)
			r.Terms = k.words(150)
			chunks = append(chunks, vector(r, "m", k.vector()...))
		}
		list[i] = swap(s, chunks...)
	}
	return list
}
