package inmemory

import (
	"slices"

	"github.com/weft-go/weft/memory/driver"
)

// A messageHit is a row that has terms of the search.
type messageHit struct {
	row   *driver.MessageRow
	score float64
}

func selectsMessage(s *driver.MessageSearch, r *driver.MessageRow) bool {
	return slices.Contains(s.Roles, r.Role) && !r.At.Before(s.Since) && (s.Before.IsZero() || r.At.Before(s.Before))
}

// countMessage adds a row to the statistics. It reports whether the row has any of the
// terms.
func countMessage(c *driver.MessageCandidates, r *driver.MessageRow, terms []string) (found bool) {
	c.Messages++
	c.Terms += int64(len(r.Terms))
	for i, term := range terms {
		if slices.Contains(r.Terms, term) {
			c.Frequency[i]++
			found = true
		}
	}
	return found
}
