package sqlitememory

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory"
)

// Search implements [memory.Store]. The nearest vectors are found by comparing all that
// the query selects.
func (f *Facts) Search(ctx context.Context, s memory.Search) (memory.Candidates, error) {
	var c memory.Candidates
	err := f.db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
		c, err = search(ctx, q, &s)
		return err
	})
	if err != nil {
		return memory.Candidates{}, f.db.fail("search", err)
	}
	return c, nil
}

// candidatePage is how many candidates are read at once.
const candidatePage = 512

func search(ctx context.Context, q *sqlitedb.Session, s *memory.Search) (memory.Candidates, error) {
	c := memory.Candidates{Frequency: make([]int64, len(s.Terms))}
	sel, err := newSelection(q, &s.Query)
	if err != nil || sel.none {
		return c, err
	}
	u := &surveyor{Session: q, search: s, sel: sel, selected: keySet{}, nearest: nearest{limit: max(0, s.Limit)}}
	if err := u.survey(ctx, &c); err != nil {
		return c, err
	}
	keys, err := u.words(ctx, &c)
	if err != nil {
		return c, err
	}
	found := keySet{}
	for _, key := range keys {
		found.add(key)
	}
	for _, key := range u.nearest.best() {
		if !found.has(key) {
			keys = append(keys, key)
		}
	}
	for len(keys) > 0 {
		n := min(candidatePage, len(keys))
		rows, err := rowsByKeys(q, keys[:n], nil)
		if err != nil {
			return c, err
		}
		for _, r := range rows {
			c.Records = append(c.Records, r.Record)
		}
		keys = keys[n:]
	}
	return c, ctx.Err()
}

// A surveyor is a search that is under way.
type surveyor struct {
	*sqlitedb.Session
	search   *memory.Search
	sel      *selection
	selected keySet
	nearest  nearest
}

// survey looks at everything that the query selects, and at its vectors.
func (u *surveyor) survey(ctx context.Context, c *memory.Candidates) error {
	metadata, vector := `NULL`, `0, NULL`
	var args []any
	if len(u.sel.where) > 0 {
		metadata = `f.metadata`
	}
	want := u.search.Embedding
	if len(want) > 0 && u.search.Limit > 0 {
		vector = `f.norm, CASE WHEN f.model = ? AND f.dimension = ? THEN f.embedding END`
		args = []any{u.search.Model, len(want)}
	}
	norm := length(want)
	text := `SELECT f.key, f.words, ` + metadata + `, ` + vector + ` FROM mem_fact f WHERE ` + u.sel.text
	return u.each(ctx, text, append(args, u.sel.args...), func(scan func(...any) error) (bool, error) {
		var key, words int64
		var other float64
		var metadata, stored sql.RawBytes
		if err := scan(&key, &words, &metadata, &other, &stored); err != nil {
			return false, err
		}
		if !u.sel.holds(metadata) {
			return true, nil
		}
		c.Facts++
		c.Terms += words
		u.selected.add(key)
		if stored == nil {
			return true, nil
		}
		if len(stored) != 4*len(want) {
			return false, fmt.Errorf("vector of %d bytes, want %d: %w", len(stored), 4*len(want), ErrCorrupt)
		}
		score := 0.0
		if norm > 0 && other > 0 {
			score = dot(want, stored) / (norm * other)
		}
		u.nearest.show(near{key, score})
		return true, nil
	})
}

// maxTokens is how many words the index is asked for at once.
const maxTokens = 512

// words counts the selected facts that have each term, and returns the keys of the best.
func (u *surveyor) words(ctx context.Context, c *memory.Candidates) ([]int64, error) {
	if len(u.search.Terms) == 0 {
		return nil, nil
	}
	if n := len(u.sel.scopes); n == 0 || n*len(u.search.Terms) > maxTokens {
		return u.readWords(ctx, c)
	}
	for i, term := range u.search.Terms {
		n, err := u.frequency(ctx, term)
		if err != nil {
			return nil, err
		}
		c.Frequency[i] = n
	}
	return u.ranked(ctx)
}

// maxFrequency is where counting ends: what so many facts have is a common word.
const maxFrequency = 10_000

const wordsQuery = `SELECT rowid FROM mem_word WHERE mem_word MATCH ?`

// frequency counts the selected facts that have a term.
func (u *surveyor) frequency(ctx context.Context, term string) (n int64, err error) {
	err = u.each(ctx, wordsQuery, []any{match([]string{term}, u.sel.scopes)}, func(scan func(...any) error) (bool, error) {
		var key int64
		if err := scan(&key); err != nil {
			return false, err
		}
		if u.selected.has(key) {
			n++
		}
		return n < maxFrequency, nil
	})
	return n, err
}

const rankedQuery = wordsQuery + ` ORDER BY bm25(mem_word) LIMIT ?`

// ranked returns the keys of the selected facts with the best words. A fact that is
// not selected takes a place of those that are read, so there may have to be more.
func (u *surveyor) ranked(ctx context.Context) (keys []int64, err error) {
	if u.search.Limit <= 0 {
		return nil, nil
	}
	text := match(u.search.Terms, u.sel.scopes)
	for limit := u.search.Limit; ; {
		keys = keys[:0]
		read := 0
		err := u.each(ctx, rankedQuery, []any{text, limit}, func(scan func(...any) error) (bool, error) {
			var key int64
			if err := scan(&key); err != nil {
				return false, err
			}
			if read++; u.selected.has(key) {
				keys = append(keys, key)
			}
			return len(keys) < u.search.Limit, nil
		})
		if err != nil || len(keys) == u.search.Limit || limit < 0 || read < limit {
			return keys, err
		}
		limit = -1
	}
}

// each looks at the caller's context now and then.
func (u *surveyor) each(ctx context.Context, query string, args []any, fn func(scan func(...any) error) (bool, error)) error {
	n := 0
	return u.Each(query, args, func(scan func(...any) error) (bool, error) {
		if n++; n%256 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		return fn(scan)
	})
}

// A keySet holds keys in few bytes, as they lie close together.
type keySet map[int64]uint64

func (s keySet) add(key int64)      { s[key>>6] |= 1 << (key & 63) }
func (s keySet) has(key int64) bool { return s[key>>6]>>(key&63)&1 == 1 }
