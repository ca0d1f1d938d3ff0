package sqlitecheckpoint

import "github.com/weft-go/weft/internal/sqlitedb"

// A found is the newest checkpoint of a namespace.
type found struct {
	key      int64 // 0 for none
	id       string
	parentID string
}

const (
	newestColumns = `SELECT s.key, s.id, p.id FROM cp_step s `
	joinParent    = `LEFT JOIN cp_step p ON s.parent > 0 AND p.key = s.key - s.parent `

	// newestOfRootQuery takes the thread's first key and the end of its keys.
	// The checkpoints of subgraphs that it skips are as many as came since the
	// graph's own newest.
	newestOfRootQuery = newestColumns + joinParent +
		`WHERE s.key > ? AND s.key < ? AND s.namespace = 0 ORDER BY s.key DESC LIMIT 1`

	// newestOfNamespaceQuery takes the namespace.
	newestOfNamespaceQuery = `SELECT s.key, s.id, p.id FROM cp_step s INDEXED BY cp_step_namespace ` + joinParent +
		`WHERE s.namespace = ? AND s.namespace > 0 ORDER BY s.key DESC LIMIT 1`

	// newestOfThreadQuery takes the thread's first key and the end of its keys.
	newestOfThreadQuery = `SELECT key, id, namespace, time FROM cp_step WHERE key > ? AND key < ? ORDER BY key DESC LIMIT 1`
)

// findNewest returns a key of 0 if the namespace has no checkpoint.
func findNewest(q *sqlitedb.Session, thread int64, name string) (found, error) {
	query, args := newestOfRootQuery, []any{firstKey(thread), endKey(thread)}
	if name != "" {
		namespace, known, err := findNamespace(q, thread, name)
		if err != nil || !known {
			return found{}, err
		}
		query, args = newestOfNamespaceQuery, []any{namespace}
	}
	var f found
	var id, parent any
	ok, err := q.One(query, args, &f.key, &id, &parent)
	if err != nil || !ok {
		return found{}, err
	}
	if f.id, err = unpackID(id); err != nil {
		return found{}, err
	}
	if parent != nil {
		f.parentID, err = unpackID(parent)
	}
	return f, err
}

// newestOfThread returns a key of 0 if the thread has no checkpoint.
func newestOfThread(q *sqlitedb.Session, thread int64) (*tip, error) {
	t := &tip{}
	ok, err := q.One(newestOfThreadQuery, []any{firstKey(thread), endKey(thread)}, &t.key, &t.packed, &t.namespace, &t.time)
	if err != nil || !ok {
		return &tip{}, err
	}
	t.id, err = unpackID(t.packed)
	return t, err
}
