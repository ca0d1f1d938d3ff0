package pgmemory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// A search for few candidates finds the best by BM25: a long fact that has a word often before short facts
// that have it once.
func TestSearchCountsHowOftenAFactHasAWord(t *testing.T) {
	t.Parallel()
	db := newPlace(t).open(t)
	want := adding(strings.Repeat("tea ", 5) + strings.Repeat("and other things ", 5))
	changes := []driver.FactChange{want}
	for i := range 20 {
		changes = append(changes, adding(fmt.Sprintf("a cup of tea number %d", i)))
	}
	_, err := db.Facts().Apply(t.Context(), ann, changes)
	require.NoError(t, err)
	c, err := db.Facts().Search(t.Context(), driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"tea", "absent"}, Limit: 1})
	require.NoError(t, err)
	require.Len(t, c.Records, 1)
	assert.Equal(t, want.Record.ID, c.Records[0].ID)
	assert.Equal(t, []int64{21, 0}, c.Frequency)
}
