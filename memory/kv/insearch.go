package kv

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// Find implements [Store].
func (m *InMemory) Find(ctx context.Context, s memory.Scope, q Selection) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		rows := m.selected(s, &q)
		slices.SortFunc(rows, func(a, b *row) int { return compareItems(q.Order, &a.Item, &b.Item) })
		if limit, limited := q.Most(); limited {
			rows = rows[:min(limit, len(rows))]
		}
		if q.Refresh {
			m.refresh(s, rows)
		}
		for _, r := range rows {
			if err := ctx.Err(); err != nil {
				yield(Item{}, err)
				return
			}
			if !yield(r.copy().Item, nil) {
				return
			}
		}
	}
}

func compareItems(o Order, a, b *Item) int {
	if o == ByKey {
		return a.Address.Compare(b.Address)
	}
	return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), b.Address.Compare(a.Address))
}

// selected returns the rows of a selection, but for its limit.
func (m *InMemory) selected(s memory.Scope, q *Selection) []*row {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := input.Exact(time.Now())
	var rows []*row
	if q.Addresses == nil {
		for _, r := range m.scopes[s] {
			if !r.expired(now) && selectsValue(q, r) {
				rows = append(rows, r)
			}
		}
		return rows
	}
	seen := map[*row]bool{}
	for _, a := range q.Addresses {
		if r := m.scopes[s][a.Path()]; r != nil && !seen[r] && !r.expired(now) && selectsValue(q, r) {
			seen[r] = true
			rows = append(rows, r)
		}
	}
	return rows
}

func selectsValue(q *Selection, r *row) bool {
	switch {
	case len(q.Prefix) > len(r.Namespace), !slices.Equal(q.Prefix, r.Namespace[:len(q.Prefix)]),
		q.Own && len(q.Prefix) != len(r.Namespace),
		!strings.HasPrefix(r.Key, q.KeyPrefix),
		q.After != nil && compareItems(q.Order, q.After, &r.Item) >= 0,
		q.Without != "" && !r.lacks(q.Without, q.Dimension):
		return false
	}
	return !slices.ContainsFunc(q.Where, func(c memory.Condition) bool { return !c.Match(r.Value) })
}

// refresh makes rows live on, and puts those that do in their places.
func (m *InMemory) refresh(s memory.Scope, rows []*row) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := input.Exact(time.Now())
	for i, r := range rows {
		path := r.Path()
		if !r.refresh || m.scopes[s][path] != r || r.expired(now) { // somebody else was here meanwhile
			continue
		}
		next := *r
		next.ExpiresAt = now.Add(r.ttl)
		m.scopes[s][path], rows[i] = &next, &next
	}
}

// A hit is a row with how well it fits.
type hit struct {
	row   *row
	score float64
}

// Search implements [Store]. It looks at every value that is selected.
func (m *InMemory) Search(ctx context.Context, s memory.Scope, q Search) (Candidates, error) {
	c := Candidates{Frequency: make([]int64, len(q.Terms))}
	var byWords, byVector []hit
	selection := q.Selection
	selection.After = nil
	rows := m.selected(s, &selection)
	corpus := rank.Corpus{Frequency: map[string]int64{}}
	for _, r := range rows {
		countValue(&c, r, q.Terms)
	}
	corpus.Docs, corpus.Terms = c.Values, c.Terms
	for i, term := range q.Terms {
		corpus.Frequency[term] = c.Frequency[i]
	}
	words := rank.NewWords(q.Terms, corpus)
	for _, r := range rows {
		if score := words.Score(r.Terms); score > 0 {
			byWords = append(byWords, hit{r, score})
		}
		if q.Embedding != nil && r.Embedding != nil && r.Model == q.Model && len(r.Embedding) == len(q.Embedding) {
			byVector = append(byVector, hit{r, rank.Cosine(r.Embedding, q.Embedding)})
		}
	}
	if err := ctx.Err(); err != nil {
		return Candidates{}, err
	}
	seen := map[*row]bool{}
	for _, hits := range [][]hit{byWords, byVector} {
		slices.SortFunc(hits, func(a, b hit) int {
			return cmp.Or(cmp.Compare(b.score, a.score), a.row.Address.Compare(b.row.Address))
		})
		for _, h := range hits[:max(0, min(q.Limit, len(hits)))] {
			if !seen[h.row] {
				seen[h.row] = true
				c.Records = append(c.Records, h.row.copy())
			}
		}
	}
	return c, nil
}

// count takes a row into the statistics.
func countValue(c *Candidates, r *row, terms []string) {
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
