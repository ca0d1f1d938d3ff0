package pgmemory_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// The database and package memory agree on which texts are the same.
func TestVisibleTextIsComparedAsInGo(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	p.open(t)
	pieces := []string{
		"a", "A", "e\u0301", "\u00e9", " ", "  ", "\t", "\u00a0", "\u3000", "\u0085", "\u2028", ".", "..", "。", "!", "?", "'", "’", "‘", `"`, "“", "»", "′", "″",
		"-", "–", "−", "\u00ad", "\u200b", "\u200d", "\ufeff", "\u1100\u1161", "가", "5", "٣", "\\", "%", "東",
	}
	random := rand.New(rand.NewPCG(3, 4))
	text := func() (s string) {
		for range 1 + random.IntN(4) {
			s += pieces[random.IntN(len(pieces))]
		}
		return s
	}
	var left, right []string
	for range 4000 {
		a := text()
		b := text()
		if random.IntN(2) == 0 {
			b = " " + a + pieces[random.IntN(len(pieces))]
		}
		left, right = append(left, a), append(right, b)
	}
	query := fmt.Sprintf(`SELECT array_agg(%[1]s.mem_visible(a) = %[1]s.mem_visible(b) ORDER BY nr)
	FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (a, b, nr)`, p.options.Schema)
	same := pgtest.Ask[[]bool](t, p.url, query, left, right)
	equal := 0
	for i := range left {
		if same[i] {
			equal++
		}
		assert.Equal(t, input.SameText(left[i], right[i]), same[i], "%q and %q", left[i], right[i])
	}
	assert.Greater(t, equal, 100)
}

// The stored numbers for trust are the same as in earlier versions.
func TestTrustIsStoredAsBefore(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	store := p.open(t).Facts()
	for level, want := range map[driver.Trust]int{driver.Stated: 0, driver.Inferred: 1, driver.Untrusted: 2} {
		c := adding("trust " + level.String())
		c.Record.Trust = level
		_, err := store.Apply(t.Context(), ann, []driver.FactChange{c})
		assert.NoError(t, err)
		assert.Equal(t, want, pgtest.Ask[int](t, p.url, `SELECT trust::int FROM `+p.options.Schema+`.mem_fact WHERE id = $1::text::uuid`, c.Record.ID))
	}
}
