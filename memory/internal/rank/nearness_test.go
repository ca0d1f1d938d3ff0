package rank_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/memory/internal/rank"
)

// Vectors order the documents that were found by words, even if 400 other documents are nearer.
func TestVectorsOrderWhatWordsBring(t *testing.T) {
	t.Parallel()
	with := func(cos float64, terms ...string) rank.Doc {
		return rank.Doc{Terms: terms, Vector: []float32{float32(cos), float32(math.Sqrt(1 - cos*cos))}}
	}
	docs := []rank.Doc{with(0.1, "ann"), with(0.5, "ann")}
	for i := range 2 * rank.Candidates {
		docs = append(docs, with(0.6+float64(i)/10_000, "other"))
	}
	c := rank.Corpus{Docs: 10_000, Terms: 10_000, Frequency: map[string]int64{"ann": 2}}
	scores := rank.Weights{}.Score([]string{"ann"}, []float32{1, 0}, c, docs)
	assert.Greater(t, scores[1].Vector, scores[0].Vector)
	assert.Equal(t, 1, rank.Order(scores)[0])
	// Documents that are not among the best by words or by vectors do not change the scores.
	more := append(docs, with(-0.9, "other"), with(-0.2, "other"))
	assert.Equal(t, scores, rank.Weights{}.Score([]string{"ann"}, []float32{1, 0}, c, more)[:len(docs)])
}
