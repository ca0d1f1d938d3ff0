package inmemory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

func compareItems(o driver.Order, a, b *driver.Item) int {
	if o == driver.ByKey {
		return a.Address.Compare(b.Address)
	}
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), b.Address.Compare(a.Address))
}

func selectsValue(q *driver.ValueSelection, r *valueRow) bool {
	switch {
	case len(q.Prefix) > len(r.Namespace), !slices.Equal(q.Prefix, r.Namespace[:len(q.Prefix)]),
		q.Own && len(q.Prefix) != len(r.Namespace),
		!strings.HasPrefix(r.Key, q.KeyPrefix),
		q.After != nil && compareItems(q.Order, q.After, &r.Item) >= 0,
		q.Without != "" && !r.lacks(q.Without, q.Dimension):
		return false
	}
	return !slices.ContainsFunc(q.Where, func(c driver.Condition) bool { return !c.Match(r.Value) })
}

// A valueHit is a row with its score.
type valueHit struct {
	row   *valueRow
	score float64
}

// countValue adds a row to the statistics.
func countValue(c *driver.ValueCandidates, r *valueRow, terms []string) {
	if len(r.Terms) == 0 {
		return
	}
	c.Values++
	c.Terms += int64(len(r.Terms))
	for i, term := range terms {
		if slices.Contains(r.Terms, term) {
			c.Frequency[i]++
		}
	}
}
