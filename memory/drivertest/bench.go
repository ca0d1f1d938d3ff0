package drivertest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// BenchFacts measures the stores that open returns: storing one fact and a hundred facts per call, with
// vectors of 384 numbers, and searching scopes of a thousand, ten thousand and, without -short, a hundred
// thousand facts, by words, by vector and by both.
func BenchFacts(b *testing.B, open func(tb testing.TB) driver.FactStore) {
	for _, batch := range []int{1, 100} {
		b.Run(fmt.Sprintf("Store/facts=%d", batch), func(b *testing.B) { benchStore(b, open(b), batch) })
	}
	for _, n := range []int{1_000, 10_000, 100_000} {
		if n > 10_000 && testing.Short() {
			continue
		}
		b.Run(fmt.Sprintf("Search/facts=%d", n), func(b *testing.B) { benchSearch(b, open(b), n) })
	}
}

const benchDimension = 384

// A writer generates facts whose words have the frequencies of a natural language.
type writer struct {
	r     *rand.Rand
	words *rand.Zipf
}

func newWriter() *writer {
	r := rand.New(rand.NewPCG(1, 2))
	return &writer{r, rand.NewZipf(r, 1.1, 20, 20_000)}
}

func (w *writer) terms(n int) []string {
	terms := make([]string, n)
	for i := range terms {
		terms[i] = fmt.Sprint("w", w.words.Uint64())
	}
	return terms
}

func (w *writer) vector() []float32 {
	v := make([]float32, benchDimension)
	sum := 0.0
	for i := range v {
		v[i] = float32(w.r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func (w *writer) change(content string) driver.FactChange {
	r := newRecord(content)
	r.Terms, r.Embedding, r.Model = w.terms(12), w.vector(), "bench"
	return driver.FactChange{Kind: driver.Add, Record: r}
}

func benchStore(b *testing.B, store driver.FactStore, batch int) {
	w := newWriter()
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		changes := make([]driver.FactChange, batch)
		for i := range changes {
			n++
			changes[i] = w.change(fmt.Sprint("a fact of some length, as they often are, with the number ", n))
		}
		b.StartTimer()
		if _, err := store.Apply(context.Background(), ann, changes); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/fact")
}

func benchSearch(b *testing.B, store driver.FactStore, n int) {
	w := newWriter()
	var changes []driver.FactChange
	for i := range n {
		changes = append(changes, w.change(fmt.Sprint("a fact of some length, as they often are, with the number ", i)))
		if len(changes) == memory.MaxBatch || i == n-1 {
			if _, err := store.Apply(context.Background(), ann, changes); err != nil {
				b.Fatal(err)
			}
			changes = nil
		}
	}
	for name, vector := range map[string][]float32{"words": nil, "both": w.vector()} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: distinct(w.terms(6)), Embedding: vector, Model: "bench", Limit: 100}
				c, err := store.Search(context.Background(), s)
				if err != nil || c.Facts != int64(n) || len(c.Records) == 0 {
					b.Fatalf("got %d candidates of %d facts, error %v want some of %d", len(c.Records), c.Facts, err, n)
				}
			}
		})
	}
	b.Run("newest", func(b *testing.B) {
		for b.Loop() {
			found := 0
			for _, err := range store.Find(context.Background(), driver.FactQuery{Reach: ann.Only(), Limit: 20}) {
				if err != nil {
					b.Fatal(err)
				}
				found++
			}
			if found != 20 {
				b.Fatalf("got %d want 20", found)
			}
		}
	})
}

func distinct(terms []string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, term := range terms {
		if !seen[term] {
			seen[term] = true
			kept = append(kept, term)
		}
	}
	return kept
}
