package inmemory

import (
	"slices"

	"github.com/weft-go/weft/memory/driver"
)

// A hit is a row with words that are looked for.
type messageHit struct {
	row   *driver.MessageRow
	score float64
}

func selectsMessage(s *driver.MessageSearch, r *driver.MessageRow) bool {
	return slices.Contains(s.Roles, r.Role) && !r.At.Before(s.Since) && (s.Before.IsZero() || r.At.Before(s.Before))
}

// count takes a row into the statistics, and reports whether it has any of the words.
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
