package sqlitememory

import (
	"encoding/json"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory"
)

// A selection is a query as SQL: a condition on mem_fact f, made of constants, whose values are
// arguments, and what only Go can tell.
type selection struct {
	text  string
	args  []any
	where []memory.Condition
	// scopes are all that it looks at, if they are few, and none says that there are none.
	scopes []scope
	none   bool
}

// fewScopes is how many scopes are looked for in the index of words.
const fewScopes = 32

func newSelection(q *sqlitedb.Session, query *memory.Query) (*selection, error) {
	s := &selection{where: query.Where}
	if err := s.addScopes(q, query); err != nil || s.none {
		return s, err
	}
	if len(query.IDs) > 0 {
		s.list(`f.id IN (SELECT unhex(value) FROM json_each(?))`, hexIDs(query.IDs))
	}
	if len(query.Kinds) > 0 {
		s.list(`f.kind IN (SELECT value FROM json_each(?))`, query.Kinds)
	}
	if query.Conversation != "" {
		s.and(`f.conversation = ?`, query.Conversation)
	}
	if !query.Untrusted {
		s.and(`f.trust < ?`, int(memory.Untrusted))
	}
	if query.Without != "" {
		s.and(`NOT (f.model = ? AND f.dimension > 0)`, query.Without)
	}
	if query.Closed {
		return s, nil
	}
	now, err := readTime(q)
	if err != nil {
		return nil, err
	}
	at := now
	if query.AsOf.IsZero() {
		s.and(`(f.expires_at IS NULL OR f.expires_at > ?)`, now)
	} else {
		at = query.AsOf.UnixMicro()
	}
	s.and(`f.valid_from <= ? AND (f.valid_to IS NULL OR f.valid_to > ?)`, at, at)
	return s, nil
}

func (s *selection) and(text string, args ...any) {
	if s.text != "" {
		s.text += ` AND `
	}
	s.text += text
	s.args = append(s.args, args...)
}

// list adds a condition on a list of any length.
func (s *selection) list(text string, list any) {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts and numbers
	}
	s.and(text, string(b))
}

func (s *selection) addScopes(q *sqlitedb.Session, query *memory.Query) error {
	text, args := scopesOf(query)
	scopes, err := someScopes(q, text, args, fewScopes+1)
	switch n := len(scopes); {
	case n == 0:
		s.none = true
	case n == 1:
		s.and(`f.scope = ?`, scopes[0].key)
	default:
		s.and(`f.scope IN (SELECT key FROM mem_scope WHERE `+text+`)`, args...)
	}
	if len(scopes) <= fewScopes {
		s.scopes = scopes
	}
	return err
}

// holds is what only Go can tell: whether metadata fulfil the conditions.
func (s *selection) holds(metadata []byte) bool {
	for _, c := range s.where {
		if !c.Match(metadata) {
			return false
		}
	}
	return true
}

// hexIDs leaves out what is no id, as nothing has it.
func hexIDs(ids []string) []string {
	list := make([]string, 0, len(ids))
	for _, id := range ids {
		if _, ok := packID(id); ok {
			list = append(list, strings.ReplaceAll(id, "-", ""))
		}
	}
	return list
}
