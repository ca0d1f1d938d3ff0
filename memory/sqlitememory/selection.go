package sqlitememory

import (
	"database/sql"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// A selection is a query: an SQL condition on a table f, its arguments, and conditions on JSON,
// which are checked in Go.
type selection struct {
	text  string
	args  []any
	where []driver.Condition
	// scopes are all selected scopes, or nil if there are more than fewScopes. none means that no
	// scope is selected.
	scopes []scope
	none   bool
}

// fewScopes is the maximum number of scopes for which an index of words is used.
const fewScopes = 32

// selection selects the rows of the scopes of a reach, from a table with a column scope.
func (c *corpus) selection(q *sqlitedb.Session, reach *driver.Reach) (*selection, error) {
	s := &selection{}
	text, args := scopesOf(reach)
	scopes, err := c.someScopes(q, text, args, fewScopes+1)
	switch n := len(scopes); {
	case n == 0:
		s.none = true
	case n == 1:
		s.and(`f.scope = ?`, scopes[0].key)
	default:
		s.and(`f.scope IN (SELECT key FROM `+c.scopes+` WHERE `+text+`)`, args...)
	}
	if len(scopes) <= fewScopes {
		s.scopes = scopes
	}
	return s, err
}

func (s *selection) and(text string, args ...any) {
	if s.text != "" {
		s.text += ` AND `
	}
	s.text += text
	s.args = append(s.args, args...)
}

// prefix adds the condition that a column begins with a prefix, compared by bytes. The function as
// converts an argument to the type of the column.
func (s *selection) prefix(column, prefix string, as func(string) any) {
	if prefix == "" {
		return
	}
	s.and(column+` >= ?`, as(prefix))
	if end := prefixEnd(prefix); end != "" {
		s.and(column+` < ?`, as(end))
	}
}

// prefixEnd returns the least string greater than every string with the prefix, or "" if there is
// none.
func prefixEnd(prefix string) string {
	for n := len(prefix); n > 0; n-- {
		if last := prefix[n-1]; last < 0xff {
			return prefix[:n-1] + string([]byte{last + 1})
		}
	}
	return ""
}

// holds reports whether a JSON document meets the conditions of the query.
func (s *selection) holds(document []byte) bool {
	for _, c := range s.where {
		if !c.Match(document) {
			return false
		}
	}
	return true
}

// parts returns a selection of the rows that belong to the rows that s selects from a table, such as
// the chunks of sources. The column has the key of the row to which a row belongs.
func (s *selection) parts(q *sqlitedb.Session, column, table string) (*selection, error) {
	of := &selection{scopes: s.scopes}
	if len(s.where) == 0 {
		of.and(column+` IN (SELECT f.key FROM `+table+` f WHERE `+s.text+`)`, s.args...)
		return of, nil
	}
	keys := []int64{}
	err := q.Each(`SELECT f.key, f.metadata FROM `+table+` f WHERE `+s.text, s.args, func(scan func(...any) error) (bool, error) {
		var key int64
		var metadata sql.RawBytes
		err := scan(&key, &metadata)
		if err == nil && s.holds(metadata) {
			keys = append(keys, key)
		}
		return true, err
	})
	of.and(column+` IN (SELECT value FROM json_each(?))`, listOf(keys))
	return of, err
}
