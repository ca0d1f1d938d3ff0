package sqlitecheckpoint

import (
	"database/sql"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// A newest is the newest checkpoint of a namespace.
type newest struct {
	key      int64 // 0 for none
	id       string
	parentID string
}

const (
	newestColumns = `SELECT s.key, s.id, p.id FROM cp_step s `
	joinParent    = `LEFT JOIN cp_step p ON s.parent > 0 AND p.key = s.key - s.parent AND p.namespace = s.namespace `

	// newestOfRootQuery has the arguments first key and end of keys. It skips newer
	// checkpoints of subgraphs.
	newestOfRootQuery = newestColumns + joinParent +
		`WHERE s.key > ? AND s.key < ? AND s.namespace = 0 ORDER BY s.key DESC LIMIT 1`

	// newestOfNamespaceQuery has the argument namespace.
	newestOfNamespaceQuery = `SELECT s.key, s.id, p.id FROM cp_step s INDEXED BY cp_step_namespace ` + joinParent +
		`WHERE s.namespace = ? AND s.namespace > 0 ORDER BY s.key DESC LIMIT 1`

	// newestOfThreadQuery has the arguments first key and end of keys.
	newestOfThreadQuery = `SELECT key, id, namespace, time FROM cp_step WHERE key > ? AND key < ? ORDER BY key DESC LIMIT 1`

	findThreadQuery = `SELECT key, created, missing, seal FROM cp_thread WHERE id = ?`
)

// findThread returns the key of a thread, and 0 if the thread does not exist.
func findThread(q *sqlitedb.Session, id string) (int64, error) {
	t := threadRow{id: id}
	var seal sql.NullInt64
	found, err := q.One(findThreadQuery, []any{id}, &t.key, &t.created, &t.missing, &seal)
	if err != nil || !found {
		return 0, err
	}
	return t.key, t.verify(seal)
}

// findNewest returns the newest checkpoint of a namespace. Its key is 0 if there is none.
func findNewest(q *sqlitedb.Session, thread int64, name string) (newest, error) {
	query, args := newestOfRootQuery, keyRange(thread)
	if name != "" {
		namespace, known, err := findNamespace(q, thread, name)
		if err != nil || !known {
			return newest{}, err
		}
		query, args = newestOfNamespaceQuery, []any{namespace}
	}
	var n newest
	var id, parent any
	ok, err := q.One(query, args, &n.key, &id, &parent)
	if err == nil && !ok && name != "" {
		// A namespace is stored and removed together with its checkpoints.
		err = fmt.Errorf("no checkpoint is left in it: %w", checkpoint.ErrCorrupt)
	}
	if err != nil || !ok {
		return newest{}, err
	}
	if n.id, err = unpackID(id); err != nil {
		return newest{}, err
	}
	if parent != nil {
		n.parentID, err = unpackID(parent)
	}
	return n, err
}

// newestOfThread returns the newest checkpoint of a thread. Its key is 0 if there is none.
func newestOfThread(q *sqlitedb.Session, thread int64) (*latest, error) {
	t := &latest{}
	ok, err := q.One(newestOfThreadQuery, keyRange(thread), &t.key, &t.packed, &t.namespace, &t.time)
	if err != nil || !ok {
		return &latest{}, err
	}
	t.id, err = unpackID(t.packed)
	return t, err
}
