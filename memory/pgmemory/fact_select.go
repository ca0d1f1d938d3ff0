package pgmemory

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

// A selection is a query in SQL. Its text has only constants; all values of the caller are
// arguments.
type selection struct {
	args
	with  string // begins the statement
	where string // a condition on the rows f
	size  string // a statement that counts the rows, and their terms
	one   bool   // it selects from at most one scope
	slow  bool   // the time for counting grows with the number of rows
	dear  bool   // evaluating the condition on a row takes longer than reading the row
	rough string // if dear, a cheap condition that every selected row meets
}

// A statement begins with the scopes and the time. The time is not earlier than the newest write in
// the scopes.
const (
	readScopes = `WITH reach AS MATERIALIZED (SELECT s.key, s.newest FROM weft.mem_scope s WHERE `
	countFacts = `SELECT count(*) AS rows, coalesce(sum(f.word_count), 0)::bigint AS terms FROM weft.mem_fact f WHERE `
	readTime   = `), moment AS MATERIALIZED (SELECT greatest(statement_timestamp(), max(newest)) AS now FROM reach)`
)

func newSelection(q *driver.FactQuery) (*selection, error) {
	s := &selection{slow: true, dear: len(q.Where) > 0}
	scopes, one := reach(&q.Reach, &s.args)
	s.one, s.with = one, readScopes+scopes+readTime
	parts := []string{`f.scope = ANY (ARRAY(SELECT key FROM reach))`}
	if one {
		parts[0] = only(`f.scope`, `reach`)
	}
	s.rough = parts[0]
	and := func(text string) { parts = append(parts, text) }
	if len(q.IDs) > 0 {
		ids := []string{} // no fact has an invalid id
		for _, id := range q.IDs {
			if isID(id) {
				ids = append(ids, id)
			}
		}
		and(`f.id = ANY (` + s.add(ids, "text[]") + `::uuid[])`)
	}
	if len(q.Kinds) > 0 {
		kinds := make([]string, len(q.Kinds))
		for i, kind := range q.Kinds {
			kinds[i] = string(kind)
		}
		and(`f.kind = ANY (` + s.add(kinds, "text[]") + `)`)
	}
	if q.Conversation != "" {
		and(`f.conversation = ` + s.add(q.Conversation, "text"))
	}
	if !q.Untrusted {
		and(`f.trust < 2`)
	}
	if q.Without != "" {
		and(without(&s.args, q.Without, q.Dimension))
	}
	for _, c := range q.Where {
		text, err := condition(`f.metadata`, c, &s.args)
		if err != nil {
			return nil, err
		}
		and(text)
	}
	switch {
	case q.Closed:
	default:
		at := `(SELECT now FROM moment)`
		if !q.AsOf.IsZero() {
			at = s.add(q.AsOf.UTC(), "timestamptz")
		}
		and(`(f.expires_at IS NULL OR f.expires_at > ` + at + `)`)
		and(`f.valid_from <= ` + at + ` AND (f.valid_to IS NULL OR f.valid_to > ` + at + `)`)
	}
	s.where = strings.Join(parts, ` AND `)
	s.size = countFacts + s.where
	return s, nil
}

// without returns the condition that a row has no vector of a model and, unless dimension is zero,
// of this dimension.
func without(a *args, model string, dimension int) string {
	text := `(f.space IS NULL OR f.model <> ` + a.add(model, "text")
	if dimension > 0 {
		text += ` OR f.space <> ` + a.add(space(model, dimension), "bigint")
	}
	return text + `)`
}

// isID reports whether a text is a UUID in lower case with hyphens.
func isID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// key returns a hash of the statement and its arguments, which identifies the selection.
func (s *selection) key() sizeKey {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s%s%#v", s.with, s.where, []any(s.args)) // a hash never fails
	return sizeKey(h.Sum(nil))
}
