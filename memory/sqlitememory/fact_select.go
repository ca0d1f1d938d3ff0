package sqlitememory

import (
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// factSelection returns a query as a condition on mem_fact f.
func factSelection(q *sqlitedb.Session, query *driver.FactQuery) (*selection, error) {
	s, err := factCorpus.selection(q, &query.Reach)
	if err != nil || s.none {
		return s, err
	}
	s.where = query.Where
	if len(query.IDs) > 0 {
		s.and(`f.id IN (SELECT unhex(value) FROM json_each(?))`, listOf(hexIDs(query.IDs)))
	}
	if len(query.Kinds) > 0 {
		s.and(`f.kind IN (SELECT value FROM json_each(?))`, listOf(query.Kinds))
	}
	if query.Conversation != "" {
		s.and(`f.conversation = ?`, query.Conversation)
	}
	if !query.Untrusted {
		s.and(`f.trust < ?`, storedUntrusted)
	}
	if query.Without != "" {
		s.and(without, query.Without, query.Dimension, query.Dimension)
	}
	if query.Closed {
		return s, nil
	}
	now, err := readTime(q)
	if err != nil {
		return nil, err
	}
	at := now
	if !query.AsOf.IsZero() {
		at = query.AsOf.UnixMicro()
	}
	s.and(`(f.expires_at IS NULL OR f.expires_at > ?)`, at)
	s.and(`f.valid_from <= ? AND (f.valid_to IS NULL OR f.valid_to > ?)`, at, at)
	return s, nil
}

// without is the condition that a row has no vector of a model and dimension. Its arguments are the
// model, the dimension and the dimension again. Zero means any dimension.
const without = `NOT (f.model = ? AND f.dimension > 0 AND (? = 0 OR f.dimension = ?))`

// hexIDs returns the hexadecimal digits of ids. It leaves out invalid ids, since no fact has an
// invalid id.
func hexIDs(ids []string) []string {
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		if _, ok := packID(id); ok {
			list = append(list, strings.ReplaceAll(id, "-", ""))
		}
	}
	return list
}
