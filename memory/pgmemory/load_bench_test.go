package pgmemory_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
)

func BenchmarkKnowledge(b *testing.B) {
	drivertest.BenchDocuments(b, func(tb testing.TB) driver.DocumentStore { return directPlace(tb).open(tb).Documents() })
}

// longDocument returns a source with chunks of a realistic length.
func longDocument(r *rand.Rand, uri string, chunks, dimension int) driver.SourceSwap {
	words := rand.NewZipf(r, 1.1, 8, 20_000)
	s := document(uri, chunks, func() []float32 {
		v := make([]float32, dimension)
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		return v
	})
	for i := range s.Chunks {
		terms := make([]string, 120)
		for n := range terms {
			terms[n] = fmt.Sprint("word", words.Uint64())
		}
		s.Chunks[i].Content, s.Chunks[i].Terms = strings.Join(terms, " "), terms
	}
	return s
}

// BenchmarkLoad stores 2,000 chunks with vectors: in one swap, which uses COPY; in swaps of 50
// chunks, each with one statement; in swaps of one chunk; and, for comparison, with a prepared
// INSERT for each chunk.
func BenchmarkLoad(b *testing.B) {
	const chunks = 2000
	for _, dimension := range []int{384, 1536} {
		for _, size := range []int{chunks, 50, 1} {
			b.Run(fmt.Sprintf("dimension=%d/swaps of %d", dimension, size), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				store := directPlace(b).open(b).Documents()
				n := 0
				for b.Loop() {
					b.StopTimer()
					var swaps []driver.SourceSwap
					for range chunks / size {
						n++
						swaps = append(swaps, longDocument(r, fmt.Sprint(n), size, dimension))
					}
					b.StartTimer()
					for _, s := range swaps {
						swapIn(b, store, docs, s)
					}
				}
				perChunk(b, chunks)
			})
		}
		b.Run(fmt.Sprintf("dimension=%d/inserts", dimension), func(b *testing.B) { benchInserts(b, chunks, dimension) })
	}
}

func perChunk(b *testing.B, chunks int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*chunks), "µs/chunk")
}

func benchInserts(b *testing.B, chunks, dimension int) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 2))
	p := directPlace(b)
	p.open(b) // to migrate the schema
	pool := p.pool(b)
	insert := p.sql(`INSERT INTO weft.mem_chunk (shelf, source, space, starts, ends, ordinal, tokens, word_count, id, model, headings, content, words, terms, embedding)
		VALUES (1, 1, 7, $1, $2, $3, $4, $5, $6, 'm', '{}', $7, $8, $9, $10::text::extensions.vector)`)
	for b.Loop() {
		b.StopTimer()
		s := longDocument(r, "a", chunks, dimension)
		b.StartTimer()
		for _, c := range s.Chunks {
			_, err := pool.Exec(ctx, insert, c.Start, c.End, c.Ordinal, c.Tokens, len(c.Terms), c.ID, c.Content, numbers(c.Terms), c.Terms, spell(c.Embedding))
			require.NoError(b, err)
		}
	}
	perChunk(b, chunks)
}

// numbers returns a distinct number for each distinct term.
func numbers(terms []string) []int64 {
	list := make([]int64, len(terms))
	for i, term := range terms {
		h := fnv.New64a()
		_, _ = h.Write([]byte(term))
		list[i] = int64(h.Sum64())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func spell(v []float32) string {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(x), 'g', -1, 32)
	}
	return string(append(b, ']'))
}
