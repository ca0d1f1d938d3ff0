package sqlitecheckpoint

// An index with an entry for every id would be a second page to write in every
// commit, and cost a third of its time. As ids of checkpoints are born in
// order, a few marks do: a mark says that the checkpoints whose ids are not
// below its own, and below that of the next mark of the thread, have keys from
// the mark's key to the end of its span of keys. In there they are searched one
// by one.
//
// A new checkpoint needs no mark when it stands in the same span as the newest
// of the thread, and no mark is above the newest one's id and not above its own:
// the mark that leads to the newest then leads to the new one, too, and no
// other checkpoint can have its id. Otherwise it gets a mark of its own, and so
// does the checkpoint whose id follows under the mark that was divided. Ids in
// no order at all thus make it an ordinary index.
//
// A mark may outlive its checkpoint, and then does no harm: at worst, others get
// marks that they could do without. It is dropped when nothing is left in its
// span.
const markSpan = 32 // the queries say | 31

const (
	// findIDQuery takes thread, id and id.
	findIDQuery = `SELECT s.key, s.namespace FROM
	(SELECT key FROM cp_mark WHERE thread = ? AND id <= ? ORDER BY id DESC LIMIT 1) m
	CROSS JOIN cp_step s ON s.key BETWEEN m.key AND (m.key | 31) AND s.id = ?`

	// markBetweenQuery takes thread, the id of the newest, and the new id.
	markBetweenQuery = `SELECT 1 FROM cp_mark WHERE thread = ? AND id > ? AND id <= ? LIMIT 1`

	// dividedQuery takes thread and new id, new id, and thread and new id. It
	// yields the checkpoint that follows the new one under its mark.
	dividedQuery = `SELECT s.id, s.key FROM
	(SELECT key FROM cp_mark WHERE thread = ? AND id <= ? ORDER BY id DESC LIMIT 1) m
	CROSS JOIN cp_step s ON s.key BETWEEN m.key AND (m.key | 31) AND s.id > ?
		AND s.id < coalesce((SELECT min(id) FROM cp_mark WHERE thread = ? AND id > ?), x'ffffffffffffffffffffffffffffffffff')
	ORDER BY s.id LIMIT 1`

	insertMark = `INSERT OR REPLACE INTO cp_mark (thread, id, key) VALUES (?, ?, ?)`

	// deleteMarks takes thread.
	deleteMarks = `DELETE FROM cp_mark WHERE thread = ? AND NOT EXISTS (
	SELECT 1 FROM cp_step s WHERE s.key BETWEEN cp_mark.key AND (cp_mark.key | 31))`
)

// findID returns the key and the namespace of a checkpoint, and a key of 0 if
// the thread has none of that id.
func findID(q *session, thread int64, id any) (key, namespace int64, err error) {
	_, err = q.one(findIDQuery, []any{thread, id, id}, &key, &namespace)
	return key, namespace, err
}

// enterMark makes a checkpoint findable that is about to be stored. Newest is
// that of the thread so far; its key is 0 if there is none.
func enterMark(w *session, key int64, id any, newest *tip) error {
	thread := threadOf(key)
	if newest.key != 0 && key%markSpan != 0 && before(newest.packed, id) {
		var one int
		marked, err := w.one(markBetweenQuery, []any{thread, newest.packed, id}, &one)
		if err != nil || !marked {
			return err
		}
	}
	var nextID any
	var nextKey int64
	divided, err := w.one(dividedQuery, []any{thread, id, id, thread, id}, &nextID, &nextKey)
	if err != nil {
		return err
	}
	if divided {
		if _, err := w.exec(insertMark, thread, nextID, nextKey); err != nil {
			return err
		}
	}
	_, err = w.exec(insertMark, thread, id, key)
	return err
}
