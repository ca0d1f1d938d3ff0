package sqlitememory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// The number and the lengths of facts in one scope do not change the order by BM25 in another scope. A search compares
// all facts with a term, even the facts that would be last in a ranking of the whole database.
func TestSearchRanksWordsWithinTheSelection(t *testing.T) {
	t.Parallel()
	facts := open(t, sqlitememory.Memory, sqlitememory.Options{}).Facts()
	want := add(t, facts, ann, "tea tea tea "+strings.Repeat("long ", 37))
	for i := range 20 {
		add(t, facts, ann, fmt.Sprint("tea ", i, strings.Repeat(" short", 8)))
		add(t, facts, ann, fmt.Sprint("coffee ", i, strings.Repeat(" longer", 98)))
	}
	for i := range 200 {
		add(t, facts, bob, fmt.Sprint(i))
	}
	found, err := facts.Search(t.Context(), driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"tea"}, Limit: 1})
	require.NoError(t, err)
	require.Len(t, found.Records, 1)
	assert.Equal(t, want, found.Records[0].ID)
}
