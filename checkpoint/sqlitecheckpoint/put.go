package sqlitecheckpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// A latest is the newest checkpoint of a thread in any namespace.
type latest struct {
	key       int64 // 0 for none
	id        string
	packed    any // the id as stored
	namespace int64
	time      int64

	// The following fields are set only if this store has put the checkpoint.
	name      string // of the namespace
	origin    *origin
	originKey int64
	pending   bool // the checkpoint may have pending writes
	highest   any  // an upper bound of the ids in the block of the key
}

// maxLatest is the maximum number of threads in [Store.latest].
const maxLatest = 4096

const (
	stepValues = `(key, namespace, parent, id, step, source, origin, time, whole, control, changes, snapshot, seal) VALUES `

	insertStep = `INSERT INTO cp_step ` + stepValues + `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	noSuchID  = ` AND NOT EXISTS (SELECT 1 FROM cp_step WHERE key BETWEEN ? AND ? AND id = ?)`
	noPending = ` AND NOT EXISTS (SELECT 1 FROM cp_pending WHERE step = ?)`
)

// appendStep returns the statement that stores almost every checkpoint. It stores a
// checkpoint whose parent is the newest of the thread and has the same namespace and run.
// The statement also checks these conditions. If one does not hold, parent is NULL. This
// violates the table's NOT NULL, so OR IGNORE stores nothing. The entry of the new id must
// be in the block of the newest checkpoint. appendAtOnce passes the arguments.
func appendStep(also string) string {
	return `INSERT OR IGNORE INTO cp_step ` + stepValues + `(?, ?,
	(SELECT CASE WHEN key = ? AND id = ? AND namespace = ? AND origin = ?
		AND (` + entryQuery + `) >> 5 = key >> 5` + also + ` THEN 1 END
		FROM cp_step WHERE key < ? ORDER BY key DESC LIMIT 1),
	?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
}

// appendSteps holds the variants of appendStep. The keys say whether the id may exist
// already, and whether the parent must have no pending writes.
var appendSteps = map[[2]bool]string{
	{false, false}: appendStep(""),
	{false, true}:  appendStep(noPending),
	{true, false}:  appendStep(noSuchID),
	{true, true}:   appendStep(noSuchID + noPending),
}

// Put implements [checkpoint.Store].
func (s *Store) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if err := c.Check(s.maxValue); err != nil {
		return err
	}
	err := s.db.Write(ctx, func(w *sqlitedb.Session) error {
		if err := s.db.CheckRoom(w); err != nil {
			return err
		}
		done, err := s.append(w, &c, head)
		if err != nil || done {
			return err
		}
		delete(s.latest, c.Thread)
		var t *latest
		err = w.Transaction(func() error {
			t, err = s.put(w, &c, head)
			return err
		})
		if err == nil && t != nil {
			s.remember(c.Thread, t)
		}
		return err
	})
	if err != nil {
		return s.fail("put", c.Key, err)
	}
	return nil
}

// remember caches the newest checkpoint of a thread after its commit.
func (s *Store) remember(thread string, t *latest) {
	if len(s.latest) >= maxLatest {
		clear(s.latest)
	}
	s.latest[thread] = t
}

// append stores a checkpoint in one of the fast ways, if the parent is the last checkpoint that this
// store has put in the thread. It returns false if it stored nothing, for example because another
// process has changed the thread.
func (s *Store) append(w *sqlitedb.Session, c *checkpoint.Checkpoint, head string) (bool, error) {
	t := s.latest[c.Thread]
	if t == nil || t.id != head || c.Parent != head || t.name != c.Namespace || !t.origin.fits(c) {
		return false, nil
	}
	next := *t
	next.key, next.id, next.packed, next.time, next.pending = t.key+1, c.ID, packID(c.ID), now(t), false
	ascending := before(t.highest, next.packed)
	if ascending {
		next.highest = next.packed
	}
	newBlock := !sameBlock(t.key, next.key)
	if newBlock && !ascending {
		return false, nil
	}
	var done bool
	var err error
	if newBlock || c.Settles && t.pending {
		done, err = s.appendInTransaction(w, c, t, &next)
	} else {
		done, err = s.appendAtOnce(w, c, t, &next, c.Settles)
	}
	if done {
		*t = next
	}
	return done, err
}

// appendAtOnce runs one of appendSteps. It returns false if nothing was stored.
func (s *Store) appendAtOnce(w *sqlitedb.Session, c *checkpoint.Checkpoint, t, next *latest, noPending bool) (bool, error) {
	mayExist := !before(t.highest, next.packed)
	args := make([]any, 0, 25)
	args = append(args, next.key, t.namespace, t.key, t.packed, t.namespace, t.originKey, threadOf(t.key), next.packed)
	if mayExist {
		args = append(args, t.key>>blockBits<<blockBits, t.key, next.packed)
	}
	if noPending {
		args = append(args, t.key)
	}
	args = append(args, endKey(threadOf(t.key)))
	n, err := w.Exec(appendSteps[[2]bool{mayExist, noPending}], s.appendRow(args, c, next, t.key)...)
	return n == 1, err
}

// appendInTransaction calls appendAtOnce in a transaction. If the checkpoint begins a block, it
// also adds the id to the index. If c.Settles is true, it also deletes the parent's pending
// writes. It returns false if nothing was stored.
func (s *Store) appendInTransaction(w *sqlitedb.Session, c *checkpoint.Checkpoint, t, next *latest) (done bool, err error) {
	err = w.Transaction(func() error {
		if done, err = s.appendAtOnce(w, c, t, next, false); err != nil || !done {
			return err
		}
		if !sameBlock(t.key, next.key) {
			if _, err := w.Exec(insertEntry, threadOf(next.key), next.packed, next.key); err != nil {
				return err
			}
		}
		if c.Settles {
			_, err = w.Exec(deletePending, t.key)
		}
		return err
	})
	return done && err == nil, err
}

// appendRow appends the values of the columns of stepValues to args, beginning with the column id.
func (s *Store) appendRow(args []any, c *checkpoint.Checkpoint, t *latest, parent int64) []any {
	h := headerOf(c, t.origin, numberOf(t.key), t.time)
	b := appendControl(s.buffer[:0], &h, c.Control)
	control := len(b)
	b = checkpoint.AppendChanges(b, c.Changes)
	changes := len(b)
	var snapshot any
	whole := 0
	if c.Snapshot != nil {
		b = checkpoint.AppendChanges(b, c.Snapshot)
		snapshot, whole = b[changes:], 1
	}
	if cap(b) <= maxBuffer {
		s.buffer = b
	}
	l := layout{key: t.key, parent: parent, id: c.ID, source: c.Source, whole: whole == 1, snapshot: whole == 1}
	return append(args, t.packed, c.Step, packSource(c.Source), t.originKey, t.time, whole,
		b[:control], b[control:changes], snapshot, l.seal())
}

// maxBuffer is the largest buffer that a store keeps between two calls.
const maxBuffer = 1 << 20

// now returns the current time in microseconds, or the time of t if that is later.
func now(t *latest) int64 {
	return max(time.Now().UnixMicro(), t.time)
}

// put stores any checkpoint in a transaction of the caller. It returns nil if c is the
// newest checkpoint already.
func (s *Store) put(w *sqlitedb.Session, c *checkpoint.Checkpoint, head string) (*latest, error) {
	p, err := findPosition(w, c, head)
	if err != nil || p == nil {
		return nil, err
	}
	if p.thread == 0 {
		if p.thread, err = addThread(w, threadRow{id: c.Thread, created: time.Now().UnixMicro()}); err != nil {
			return nil, err
		}
	}
	last, err := newestOfThread(w, p.thread)
	if err != nil {
		return nil, err
	}
	t := &latest{
		key: max(last.key, firstKey(p.thread)) + 1, id: c.ID, packed: p.id,
		name: c.Namespace, time: now(last), origin: originOf(c),
	}
	if t.namespace, err = ensureNamespace(w, p.thread, c.Namespace); err != nil {
		return nil, err
	}
	if t.originKey, err = ensureOrigin(w, p.thread, t.origin); err != nil {
		return nil, err
	}
	if err := indexID(w, t.key, t.packed); err != nil {
		return nil, err
	}
	args := []any{t.key, t.namespace, parentBack(t.key, p.parent)}
	if _, err := w.Exec(insertStep, s.appendRow(args, c, t, p.parent)...); err != nil {
		return nil, err
	}
	if c.Settles && p.parent != 0 {
		if _, err := w.Exec(deletePending, p.parent); err != nil {
			return nil, err
		}
	}
	t.highest, err = highestID(w, t.key)
	return t, err
}

// A position has the keys with which a new checkpoint is stored.
type position struct {
	thread int64 // 0 if the thread does not exist
	parent int64 // key, 0 for none
	id     any   // as stored
}

// findPosition checks that head is the newest checkpoint of the namespace and that the parent
// exists, and returns the position of a new checkpoint. It returns nil if c is the newest
// checkpoint already.
func findPosition(w *sqlitedb.Session, c *checkpoint.Checkpoint, head string) (*position, error) {
	thread, err := findThread(w, c.Thread)
	if err != nil {
		return nil, err
	}
	p := &position{thread: thread, id: packID(c.ID)}
	var last newest
	if thread != 0 {
		if last, err = findNewest(w, thread, c.Namespace); err != nil {
			return nil, err
		}
	}
	if last.id != head || last.id == c.ID {
		if last.id == c.ID && last.parentID == c.Parent {
			return nil, nil
		}
		return nil, fmt.Errorf("expected %q to be the newest checkpoint, but it is %q: %w", head, last.id, checkpoint.ErrConflict)
	}
	if thread != 0 {
		key, _, err := findID(w, thread, p.id)
		if err != nil {
			return nil, err
		}
		if key != 0 {
			return nil, fmt.Errorf("a checkpoint with this id exists: %w", checkpoint.ErrConflict)
		}
	}
	switch c.Parent {
	case "":
	case head:
		p.parent = last.key
	default:
		p.parent, err = findParent(w, thread, c)
	}
	return p, err
}

func findParent(w *sqlitedb.Session, thread int64, c *checkpoint.Checkpoint) (int64, error) {
	if thread != 0 {
		namespace, known, err := findNamespace(w, thread, c.Namespace)
		if err != nil {
			return 0, err
		}
		key, at, err := findID(w, thread, packID(c.Parent))
		if err != nil {
			return 0, err
		}
		if key != 0 && known && at == namespace {
			return key, nil
		}
	}
	return 0, fmt.Errorf("its parent %q: %w", c.Parent, checkpoint.ErrNotFound)
}
