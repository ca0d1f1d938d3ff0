package sqlitecheckpoint

import (
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// cp_mark is a sparse index of checkpoint ids. With a full index, every commit would write
// a second page. Most ids are created in the order of their keys, so one entry is enough
// for several checkpoints. The keys of a thread are divided into blocks of 32.
//
// The entry of an id is the index entry with the greatest id up to and including this id.
// A checkpoint and the entry of its id are in the same block, and the key of the entry is
// not greater than the key of the checkpoint.
//
// A lookup finds the entry of an id and scans the rest of the entry's block. A new
// checkpoint has the greatest key. It needs no entry if the entry of its id is in the same
// block. Otherwise the new checkpoint gets an entry. It then also becomes the entry of the
// greater ids that had the old entry, so these get a new entry in their own block. With ids
// in random order, almost every checkpoint has an entry.
//
// An entry may outlive its checkpoint. It is deleted when its block is empty.
const (
	blockBits = 5 // the queries say >> 5 and | 31

	// entryQuery has the arguments thread and id. It returns the key of the id's entry.
	entryQuery = `SELECT key FROM cp_mark WHERE thread = ? AND id <= ? ORDER BY id DESC LIMIT 1`

	// findIDQuery returns the key and the namespace of the checkpoint with an id. It has the
	// arguments of entryQuery, and the id.
	findIDQuery = `SELECT s.key, s.namespace FROM (` + entryQuery + `) m
	CROSS JOIN cp_step s ON s.key BETWEEN m.key AND (m.key | 31) AND s.id = ?`

	// dividedQuery finds the checkpoints that have the entry of a new id but a greater
	// id. It returns their least id and their least key. Its arguments are thread and
	// id (for entryQuery), id, thread, and id.
	dividedQuery = `SELECT min(s.id), min(s.key) FROM (` + entryQuery + `) m
	CROSS JOIN cp_step s ON s.key BETWEEN m.key AND (m.key | 31) AND s.id > ?
		AND s.id < coalesce((SELECT min(id) FROM cp_mark WHERE thread = ? AND id > ?), ` + aboveAll + `)`

	// aboveAll is greater than every id. Ids are texts, or blobs of 16 bytes. SQLite sorts
	// blobs after texts, and this blob has 17 bytes, each of which is 0xff.
	aboveAll = `x'ffffffffffffffffffffffffffffffffff'`

	// highestQuery returns the greatest id of the checkpoints in a key's block that are
	// not after the key. Its argument is the key, twice.
	highestQuery = `SELECT max(id) FROM cp_step WHERE key BETWEEN (? & ~31) AND ?`

	insertEntry = `INSERT OR REPLACE INTO cp_mark (thread, id, key) VALUES (?, ?, ?)`

	// deleteEntries has the argument thread.
	deleteEntries = `DELETE FROM cp_mark WHERE thread = ? AND NOT EXISTS (
	SELECT 1 FROM cp_step s WHERE s.key BETWEEN cp_mark.key AND (cp_mark.key | 31))`

	// scanIDQuery finds an id without the index. It has the arguments first key,
	// end of keys, and id.
	scanIDQuery = `SELECT 1 FROM cp_step WHERE key > ? AND key < ? AND id = ? LIMIT 1`
)

func sameBlock(a, b int64) bool { return a>>blockBits == b>>blockBits }

// findID returns the key and the namespace of a checkpoint, and a key of 0 if the
// thread does not have the id.
func findID(q *sqlitedb.Session, thread int64, id any) (key, namespace int64, err error) {
	_, err = q.One(findIDQuery, []any{thread, id, id}, &key, &namespace)
	return key, namespace, err
}

// confirmMissing is called when findID has not found an id. It returns [checkpoint.ErrCorrupt]
// if a damaged row or a damaged index may be the cause, and nil if the thread does not have the
// id.
func (s *Store) confirmMissing(q *sqlitedb.Session, thread int64, name string, id any) error {
	var entry, one int64
	found, err := q.One(entryQuery, []any{thread, id}, &entry)
	if err != nil {
		return err
	}
	if found {
		if err := s.verifyRows(q, name, entry-1, (entry|31)+1); err != nil {
			return err
		}
	}
	found, err = q.One(scanIDQuery, append(keyRange(thread), id), &one)
	if err == nil && found {
		err = fmt.Errorf("index of ids: %w", checkpoint.ErrCorrupt)
	}
	return err
}

// indexID adds an id to the index. The caller is about to store the checkpoint with this id.
func indexID(w *sqlitedb.Session, key int64, id any) error {
	thread := threadOf(key)
	var entry int64
	found, err := w.One(entryQuery, []any{thread, id}, &entry)
	if err != nil || found && sameBlock(entry, key) {
		return err
	}
	var nextID, nextKey any
	if _, err := w.One(dividedQuery, []any{thread, id, id, thread, id}, &nextID, &nextKey); err != nil {
		return err
	}
	if nextKey != nil {
		if _, err := w.Exec(insertEntry, thread, nextID, nextKey); err != nil {
			return err
		}
	}
	_, err = w.Exec(insertEntry, thread, id, key)
	return err
}

// highestID returns the greatest id among the checkpoints of a block, from its first key to the
// given key.
func highestID(q *sqlitedb.Session, key int64) (id any, err error) {
	_, err = q.One(highestQuery, []any{key, key}, &id)
	return id, err
}
