package rank_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/internal/rank"
)

func docs(texts ...string) (list []rank.Doc) {
	for _, t := range texts {
		list = append(list, rank.Doc{Terms: rank.Terms(t)})
	}
	return list
}

func corpus(query []string, list []rank.Doc) rank.Corpus {
	c := rank.Corpus{Docs: int64(len(list)), Frequency: map[string]int64{}}
	for _, d := range list {
		c.Terms += int64(len(d.Terms))
		for _, t := range query {
			if slices.Contains(d.Terms, t) {
				c.Frequency[t]++
			}
		}
	}
	return c
}

func near(got, want float64) bool { return math.Abs(got-want) < 1e-9 }

func TestScore_words(t *testing.T) {
	t.Parallel()
	query := []string{"tea", "green"}
	list := docs("green tea", "tea tea tea", "green paint on the wall", "coffee")
	scores := rank.Weights{}.Score(query, nil, corpus(query, list), list)
	order := rank.Order(scores)
	require.Equal(t, 0, order[0])
	require.Equal(t, 3, order[3])
	assert.EqualValues(t, 0, scores[3].Total)
	// Computed by hand: 4 documents with 9 terms, and both words in 2 of them.
	idf, average := math.Log(2), 9.0/4
	bm25 := func(tf, length float64) float64 { return idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*length/average)) }
	got, want := scores[1].Keyword/scores[0].Keyword, bm25(3, 3)/(2*bm25(1, 2))
	assert.True(t, near(got, want))
}

func TestScore_sharesAddUp(t *testing.T) {
	t.Parallel()
	list := docs("green tea", "black tea", "water")
	for i := range list {
		list[i].Vector = []float32{1, float32(i)}
		list[i].Group, list[i].Position = "talk", int64(i)
		list[i].Age = time.Duration(i) * 24 * time.Hour
		list[i].Importance = 0.5
	}
	list[2].Vector = nil
	for _, w := range []rank.Weights{
		{},
		{Recency: 0.3, Importance: 0.2},
		{Vector: 1},
		{Keyword: 2, Neighbour: 5, HalfLife: time.Hour},
		{Vector: math.NaN(), Keyword: math.Inf(1), Neighbour: -1, Recency: math.MaxFloat64, Importance: math.MaxFloat64},
		{Neighbour: 1},
	} {
		for _, vector := range [][]float32{nil, {1, 0}, {1}, {float32(math.NaN()), 1}} {
			for _, query := range [][]string{nil, {"tea"}} {
				for i, s := range w.Score(query, vector, corpus(query, list), list) {
					sum := s.Vector + s.Keyword + s.Neighbour + s.Recency + s.Importance
					require.Equal(t, s.Total, sum, "%+v, %q, %v: document %d has %+v", w, query, vector, i, s)
					assert.True(t, (s.Total >= 0 && s.Total <= 1+1e-9), "%+v, %q, %v: document %d has %+v", w, query, vector, i, s)
				}
			}
		}
	}
}

func TestScore_noCorpus(t *testing.T) {
	t.Parallel()
	list := docs("green tea", "black tea")
	scores := rank.Weights{}.Score([]string{"green"}, nil, rank.Corpus{}, list)
	assert.Greater(t, scores[0].Total, scores[1].Total)
	assert.Empty(t, (rank.Weights{}).Score([]string{"green"}, []float32{1}, rank.Corpus{}, nil))
}

// A single candidate has the score 1, and two nearly equal candidates have nearly equal scores. Among many
// candidates, the farthest has a score near 0, even if its cosine is high.
func TestScore_fewCandidates(t *testing.T) {
	t.Parallel()
	query := []float32{1, 0.5}
	list := []rank.Doc{{Vector: []float32{1, 0.5}}, {Vector: []float32{1, 0.6}}}
	w := rank.Weights{Vector: 1}
	assert.True(t, near(w.Score(nil, query, rank.Corpus{}, list[:1])[0].Total, 1), "alone")
	s := w.Score(nil, query, rank.Corpus{}, list)
	require.True(t, near(s[0].Total, 1), "two")
	require.GreaterOrEqual(t, s[1].Total, 0.9, "two")
	assert.Less(t, s[1].Total, float64(1), "two")
	for i := range 500 {
		list = append(list, rank.Doc{Vector: []float32{1, 1 + float32(i)/500}})
	}
	s = w.Score(nil, query, rank.Corpus{}, list)
	require.True(t, near(s[0].Total, 1), "many")
	assert.LessOrEqual(t, s[len(s)-1].Total, 0.2, "many")
}

func TestScore_withoutVector(t *testing.T) {
	t.Parallel()
	query := []string{"tea"}
	list := docs("tea", "tea", "milk")
	list[0].Vector, list[2].Vector = []float32{1, 0}, []float32{0.6, 0.8}
	s := rank.Weights{Vector: 1, Keyword: 1}.Score(query, []float32{1, 0}, corpus(query, list), list)
	require.True(t, near(s[0].Total, 1))
	require.True(t, near(s[1].Total, 1))
	require.EqualValues(t, 0, s[1].Vector)
	require.Less(t, s[2].Total, 0.5)
	assert.EqualValues(t, 0, s[2].Keyword)
}

func TestScore_neighbours(t *testing.T) {
	t.Parallel()
	query := []string{"tea"}
	list := docs("tea", "yes, I like it", "sure", "yes, I like it", "tea")
	for i := range list[:4] {
		list[i].Group, list[i].Position = "talk", int64(i)
	}
	list[3].Group = "other talk"
	s := rank.Weights{}.Score(query, nil, corpus(query, list), list)
	require.Positive(t, s[1].Neighbour)
	require.EqualValues(t, 0, s[2].Neighbour)
	require.EqualValues(t, 0, s[3].Neighbour)
	assert.EqualValues(t, 0, s[4].Neighbour)
}

func TestScore_recency(t *testing.T) {
	t.Parallel()
	list := []rank.Doc{{Age: -time.Hour}, {Age: 48 * time.Hour}, {Age: math.MaxInt64}}
	s := rank.Weights{Recency: 1, HalfLife: 48 * time.Hour}.Score(nil, nil, rank.Corpus{}, list)
	require.True(t, near(s[0].Recency, 1))
	require.True(t, near(s[1].Recency, 0.5))
	assert.LessOrEqual(t, s[2].Recency, 0.001)
}

func TestScore_orderOfDocuments(t *testing.T) {
	t.Parallel()
	query := rank.Terms("green tea for the guests")
	list := docs("tea", "green tea", "guests like tea", "tea", "milk")
	for i := range list {
		list[i].Vector = []float32{float32(i), 1, 2}
		list[i].Group, list[i].Position = "g", int64(i)
	}
	c := corpus(query, list)
	forth := rank.Weights{}.Score(query, []float32{1, 2, 3}, c, list)
	slices.Reverse(list)
	back := rank.Weights{}.Score(query, []float32{1, 2, 3}, c, list)
	slices.Reverse(back)
	assert.Equal(t, back, forth)
}

func TestCosine(t *testing.T) {
	t.Parallel()
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		a, b []float32
		want float64
	}{
		{nil, nil, 0},
		{[]float32{1, 0}, []float32{0, 1}, 0},
		{[]float32{1, 2, 3, 4, 5}, []float32{2, 4, 6, 8, 10}, 1},
		{[]float32{1, 2, 3, 4, 5}, []float32{-1, -2, -3, -4, -5}, -1},
		{[]float32{3, 4}, []float32{4, 3}, 0.96},
		{[]float32{1}, []float32{1, 1}, 0},
		{[]float32{0, 0}, []float32{1, 1}, 0},
		{[]float32{inf, 0}, []float32{1, 1}, 0},
	} {
		got := rank.Cosine(c.a, c.b)
		assert.LessOrEqual(t, math.Abs(got-c.want), 1e-6, "Cosine(%v, %v)", c.a, c.b)
	}
}

func TestMMR(t *testing.T) {
	t.Parallel()
	list := docs("Ann likes green tea", "Ann likes green tea much", "Ann was born in Rome", "")
	alike := func(i, j int) float64 { return rank.Similarity(&list[i], &list[j]) }
	relevance := []float64{0.9, 0.88, 0.5, 0.1}
	for _, c := range []struct {
		lambda float64
		k      int
		want   []int
	}{
		{1, 4, []int{0, 1, 2, 3}},
		{0.5, 2, []int{0, 2}},
		{0.5, 9, []int{0, 2, 1, 3}},
		{-1, 1, []int{0}},
		{0.5, -1, []int{}},
	} {
		if got := rank.MMR(relevance, alike, c.lambda, c.k); c.lambda != 0.5 || c.k != 9 {
			assert.Equal(t, c.want, got, "lambda %v, %d", c.lambda, c.k)
		} else {
			assert.Len(t, got, 4)
		}
	}
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	a, b := rank.Doc{Terms: strings.Fields("a b c")}, rank.Doc{Terms: strings.Fields("b c d c")}
	assert.Equal(t, 0.5, rank.Similarity(&a, &b))
	a.Vector, b.Vector = []float32{1, 0}, []float32{-1, 0}
	assert.EqualValues(t, 0, rank.Similarity(&a, &b))
	assert.EqualValues(t, 0, rank.Similarity(&rank.Doc{}, &rank.Doc{}))
}

func ExampleWeights_Score() {
	texts := []string{"Ann drinks tea in the morning", "Ann's bike is green", "Bob likes coffee"}
	query := rank.Distinct(rank.Terms("What does Ann drink?"))
	list := docs(texts...)
	scores := rank.Weights{}.Score(query, nil, corpus(query, list), list)
	for _, i := range rank.Order(scores) {
		fmt.Printf("%.2f %s\n", scores[i].Total, texts[i])
	}
	// Output:
	// 0.67 Ann drinks tea in the morning
	// 0.24 Ann's bike is green
	// 0.00 Bob likes coffee
}

func ExampleTerms() {
	fmt.Println(rank.Terms("Ann's studies: the Café of user_name, at 10:30"))
	// Output: [ann studi cafe user name user_name 10:30]
}

func ExampleMMR() {
	list := docs("Ann likes green tea", "Ann likes tea, and it is green", "Ann has a bike")
	alike := func(i, j int) float64 { return rank.Similarity(&list[i], &list[j]) }
	fmt.Println(rank.MMR([]float64{0.9, 0.8, 0.5}, alike, 0.5, 2))
	// Output: [0 2]
}
