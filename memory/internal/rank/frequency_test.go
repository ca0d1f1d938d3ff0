package rank_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/memory/internal/rank"
)

// A store may stop counting at 10,000, so a store that counts all facts must get the same scores.
func TestFrequencyCountsUpTo10000(t *testing.T) {
	t.Parallel()
	score := func(frequency int64) float64 {
		c := rank.Corpus{Docs: 100_000, Terms: 1_000_000, Frequency: map[string]int64{"tea": frequency}}
		return rank.NewWords([]string{"tea"}, c).Score([]string{"green", "tea"})
	}
	assert.InDelta(t, score(10_000), score(50_000), 0)
	assert.Less(t, score(10_000), score(9_000))
}
