package inmemory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
)

// A chunkHit is a found chunk with its score.
type chunkHit struct {
	row   *chunkRow
	score float64
}

// weight returns the weight of a term in a row: higher for a frequent term and for a short row.
func (p posting) weight() float64 {
	const usual = 200 // terms
	n := float64(p.n)
	return n / (n + 0.3 + 0.9*float64(len(p.row.record.Terms))/usual)
}

func byVector(s *driver.ChunkSearch, sources []*sourceRow) []chunkHit {
	if s.Embedding == nil {
		return nil
	}
	var hits []chunkHit
	for _, b := range sources {
		for _, r := range b.rows {
			if v := r.record.Embedding; v != nil && r.record.Model == s.Model && len(v) == len(s.Embedding) {
				hits = append(hits, chunkHit{r, rank.Cosine(v, s.Embedding)})
			}
		}
	}
	return hits
}

// bestChunks returns the n hits with the highest scores.
func bestChunks(hits []chunkHit, n int) []chunkHit {
	slices.SortFunc(hits, func(a, b chunkHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.row.record.ID, b.row.record.ID))
	})
	return hits[:max(0, min(n, len(hits)))]
}

// collectChunks adds each found chunk once, with its source.
func collectChunks(c *driver.ChunkCandidates, legs ...[]chunkHit) {
	rows, sources := map[*chunkRow]bool{}, map[*sourceRow]bool{}
	for _, hits := range legs {
		for _, h := range hits {
			if rows[h.row] {
				continue
			}
			rows[h.row] = true
			c.Records = append(c.Records, cloneChunk(h.row.record))
			if b := h.row.source; !sources[b] {
				sources[b] = true
				c.Sources = append(c.Sources, b.copy())
			}
		}
	}
}
