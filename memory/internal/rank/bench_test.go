package rank_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory/internal/rank"
)

func BenchmarkTerms(b *testing.B) {
	text := strings.Repeat("Ann's studies of the café's opening hours, v1.2.3 and user_name: she was running to the shops. ", 11)[:1024]
	b.SetBytes(1024)
	b.ReportAllocs()
	for b.Loop() {
		rank.Terms(text)
	}
}

// candidates returns a query, its vector, and 400 documents of 40 terms with vectors of 768 numbers.
func candidates() (query []string, vector []float32, list []rank.Doc) {
	random := rand.New(rand.NewPCG(1, 2))
	words := rank.Distinct(rank.Terms(strings.Repeat("tea coffee green bike morning paint wall garden house music water friend city train winter summer ", 1)))
	numbers := func() []float32 {
		v := make([]float32, 768)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	for i := range 400 {
		d := rank.Doc{Vector: numbers(), Group: "talk", Position: int64(i)}
		for range 40 {
			d.Terms = append(d.Terms, words[random.IntN(len(words))])
		}
		list = append(list, d)
	}
	return words[:6], numbers(), list
}

func BenchmarkScore(b *testing.B) {
	query, vector, list := candidates()
	c := corpus(query, list)
	b.ReportAllocs()
	for b.Loop() {
		rank.Weights{}.Score(query, vector, c, list)
	}
}

func BenchmarkMMR(b *testing.B) {
	query, vector, list := candidates()
	relevance := make([]float64, len(list))
	for i, s := range (rank.Weights{}).Score(query, vector, corpus(query, list), list) {
		relevance[i] = s.Total
	}
	b.ReportAllocs()
	for b.Loop() {
		rank.MMR(relevance[:50], func(i, j int) float64 { return rank.Similarity(&list[i], &list[j]) }, 0.7, 10)
	}
}
