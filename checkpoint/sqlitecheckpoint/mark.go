package sqlitecheckpoint

import "github.com/weft-go/weft/internal/sqlitedb"

// An index with an entry for every id would be a second page to write in every
// commit, and cost a third of its time. As ids of checkpoints are born almost in
// order, a few marks do. The keys of a thread come in spans of 32, and:
//
//   - the mark of an id is the one with the highest id that is not above it;
//   - every checkpoint has its key in the span of its id's mark, not below the
//     mark's key.
//
// So an id is looked up by its mark, and then one by one. A new checkpoint, whose
// key is the highest, needs no mark of its own when that of its id lies in its
// span. Otherwise it gets one; those checkpoints whose ids follow under the mark
// that this divides get one, too, which stays in their span. Ids in no order at
// all thus make it an ordinary index.
//
// A mark may outlive its checkpoint, and then does no harm. It is dropped when
// nothing is left in its span.
const (
	spanBits = 5 // the queries say >> 5 and | 31

	// markQuery takes thread and id. It yields the key of the id's mark.
	markQuery = `SELECT key FROM cp_mark WHERE thread = ? AND id <= ? ORDER BY id DESC LIMIT 1`

	// findIDQuery takes what markQuery takes, and the id.
	findIDQuery = `SELECT s.key, s.namespace FROM (` + markQuery + `) m
	CROSS JOIN cp_step s ON s.key BETWEEN m.key AND (m.key | 31) AND s.id = ?`

	// dividedQuery takes what markQuery takes for a new id, the id, and thread
	// and id. It yields the lowest id and key of those that follow the id under
	// its mark.
	dividedQuery = `SELECT min(s.id), min(s.key) FROM (` + markQuery + `) m
	CROSS JOIN cp_step s ON s.key BETWEEN m.key AND (m.key | 31) AND s.id > ?
		AND s.id < coalesce((SELECT min(id) FROM cp_mark WHERE thread = ? AND id > ?), ` + aboveAll + `)`

	// aboveAll is above every id: blobs sort behind text, and those of ids have
	// 16 bytes.
	aboveAll = `x'ffffffffffffffffffffffffffffffffff'`

	// highestQuery takes a key, and yields the highest id up to it in its span.
	highestQuery = `SELECT max(id) FROM cp_step WHERE key BETWEEN (? & ~31) AND ?`

	insertMark = `INSERT OR REPLACE INTO cp_mark (thread, id, key) VALUES (?, ?, ?)`

	// deleteMarks takes thread.
	deleteMarks = `DELETE FROM cp_mark WHERE thread = ? AND NOT EXISTS (
	SELECT 1 FROM cp_step s WHERE s.key BETWEEN cp_mark.key AND (cp_mark.key | 31))`
)

func sameSpan(a, b int64) bool { return a>>spanBits == b>>spanBits }

// findID returns the key and the namespace of a checkpoint, and a key of 0 if
// the thread has none of that id.
func findID(q *sqlitedb.Session, thread int64, id any) (key, namespace int64, err error) {
	_, err = q.One(findIDQuery, []any{thread, id, id}, &key, &namespace)
	return key, namespace, err
}

// enterMark makes a new checkpoint findable that is about to be stored.
func enterMark(w *sqlitedb.Session, key int64, id any) error {
	thread := threadOf(key)
	var mark int64
	found, err := w.One(markQuery, []any{thread, id}, &mark)
	if err != nil || found && sameSpan(mark, key) {
		return err
	}
	var nextID, nextKey any
	if _, err := w.One(dividedQuery, []any{thread, id, id, thread, id}, &nextID, &nextKey); err != nil {
		return err
	}
	if nextKey != nil {
		if _, err := w.Exec(insertMark, thread, nextID, nextKey); err != nil {
			return err
		}
	}
	_, err = w.Exec(insertMark, thread, id, key)
	return err
}

// highestID returns the highest id of a key's span up to the key.
func highestID(q *sqlitedb.Session, key int64) (id any, err error) {
	_, err = q.One(highestQuery, []any{key, key}, &id)
	return id, err
}
