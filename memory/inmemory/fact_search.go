package inmemory

import (
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

type hit struct {
	row   *driver.FactRecord
	score float64
}

// best returns the n hits with the highest scores.
func best(hits []hit, n int) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return strings.Compare(b.row.ID, a.row.ID)
	})
	return hits[:max(0, min(n, len(hits)))]
}
