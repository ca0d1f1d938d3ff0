package sqlitecheckpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// A tip is the newest checkpoint of a thread, over all its namespaces.
type tip struct {
	key       int64 // 0 for none
	id        string
	packed    any
	namespace int64
	time      int64

	// What follows is known of what this store has put itself.
	name      string // of the namespace
	origin    origin
	originKey int64
	pending   bool // there may be pending writes
	highest   any  // no id in the span of the key is above this one
}

// maxTips is how many threads a store remembers.
const maxTips = 4096

const (
	stepValues = `(key, namespace, parent, id, step, source, origin, time, whole, control, changes, snapshot) VALUES `

	insertStep = `INSERT INTO cp_step ` + stepValues + `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	noSuchID  = ` AND NOT EXISTS (SELECT 1 FROM cp_step WHERE key BETWEEN ? AND ? AND id = ?)`
	noPending = ` AND NOT EXISTS (SELECT 1 FROM cp_pending WHERE step = ?)`
)

// followStep returns the way of almost every step: in one statement, it stores a
// checkpoint that follows the newest of its thread, in the same namespace and
// run. When the newest is another one, parent is NULL, which the table does not
// take, and nothing is stored; nor is it when the mark of the id is not in the
// span of the newest. followAtOnce has its arguments.
func followStep(also string) string {
	return `INSERT OR IGNORE INTO cp_step ` + stepValues + `(?, ?,
	(SELECT CASE WHEN key = ? AND id = ? AND namespace = ? AND origin = ?
		AND (` + markQuery + `) >> 5 = key >> 5` + also + ` THEN 1 END
		FROM cp_step WHERE key < ? ORDER BY key DESC LIMIT 1),
	?, ?, ?, ?, ?, ?, ?, ?, ?)`
}

// followSteps are the variants of followStep, by whether the id may be taken and
// whether there must be no pending writes.
var followSteps = map[[2]bool]string{
	{false, false}: followStep(""),
	{false, true}:  followStep(noPending),
	{true, false}:  followStep(noSuchID),
	{true, true}:   followStep(noSuchID + noPending),
}

// Put implements [checkpoint.Store].
func (s *Store) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if err := c.Check(s.maxValue); err != nil {
		return err
	}
	err := s.db.Write(ctx, func(w *sqlitedb.Session) error {
		done, err := s.follow(w, &c, head)
		if err != nil || done {
			return err
		}
		delete(s.tips, c.Thread)
		var t *tip
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

// remember is called with the session that writes, after a commit.
func (s *Store) remember(thread string, t *tip) {
	if len(s.tips) >= maxTips {
		clear(s.tips)
	}
	s.tips[thread] = t
}

// follow stores a checkpoint that follows the one which this store has put last
// in the thread. It reports false if c is another one, or if the thread has
// changed.
func (s *Store) follow(w *sqlitedb.Session, c *checkpoint.Checkpoint, head string) (bool, error) {
	t := s.tips[c.Thread]
	if t == nil || t.id != head || c.Parent != head || t.name != c.Namespace || !t.origin.of(c) {
		return false, nil
	}
	next := *t
	next.key, next.id, next.packed, next.time, next.pending = t.key+1, c.ID, packID(c.ID), now(t), false
	ascending := before(t.highest, next.packed)
	if ascending {
		next.highest = next.packed
	}
	mark := !sameSpan(t.key, next.key)
	if mark && !ascending {
		return false, nil
	}
	var done bool
	var err error
	if settle := c.Settles && t.pending; mark || settle {
		done, err = s.followInSteps(w, c, t, &next)
	} else {
		done, err = s.followAtOnce(w, c, t, &next, c.Settles)
	}
	if done {
		*t = next
	}
	return done, err
}

func (s *Store) followAtOnce(w *sqlitedb.Session, c *checkpoint.Checkpoint, t, next *tip, settled bool) (bool, error) {
	taken := !before(t.highest, next.packed)
	args := make([]any, 0, 24)
	args = append(args, next.key, t.namespace, t.key, t.packed, t.namespace, t.originKey, threadOf(t.key), next.packed)
	if taken {
		args = append(args, t.key>>spanBits<<spanBits, t.key, next.packed)
	}
	if settled {
		args = append(args, t.key)
	}
	args = append(args, endKey(threadOf(t.key)))
	n, err := w.Exec(followSteps[[2]bool{taken, settled}], s.appendRow(args, c, next)...)
	return n == 1, err
}

// followInSteps also enters a mark and settles writes.
func (s *Store) followInSteps(w *sqlitedb.Session, c *checkpoint.Checkpoint, t, next *tip) (done bool, err error) {
	err = w.Transaction(func() error {
		if done, err = s.followAtOnce(w, c, t, next, false); err != nil || !done {
			return err
		}
		if !sameSpan(t.key, next.key) {
			if _, err := w.Exec(insertMark, threadOf(next.key), next.packed, next.key); err != nil {
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

// appendRow appends what is the same for every way to store a checkpoint.
func (s *Store) appendRow(args []any, c *checkpoint.Checkpoint, t *tip) []any {
	h := header{id: c.ID, parent: c.Parent, step: c.Step, source: c.Source, time: t.time}
	b := appendControl(s.scratch[:0], &h, c.Control)
	control := len(b)
	b = checkpoint.AppendChanges(b, c.Changes)
	changes := len(b)
	var snapshot any
	whole := 0
	if c.Snapshot != nil {
		b = checkpoint.AppendChanges(b, c.Snapshot)
		snapshot, whole = b[changes:], 1
	}
	if cap(b) <= maxScratch {
		s.scratch = b
	}
	return append(args, t.packed, c.Step, packSource(c.Source), t.originKey, t.time, whole,
		b[:control], b[control:changes], snapshot)
}

// maxScratch is how large a buffer a store keeps between two calls.
const maxScratch = 1 << 20

// now never goes back in a thread, whatever the clock does.
func now(newest *tip) int64 {
	return max(time.Now().UnixMicro(), newest.time)
}

// put stores any checkpoint, in a transaction, or says why it can not. It
// returns nil if c is the newest already.
func (s *Store) put(w *sqlitedb.Session, c *checkpoint.Checkpoint, head string) (*tip, error) {
	p, err := findPlace(w, c, head)
	if err != nil || p == nil {
		return nil, err
	}
	if p.thread == 0 {
		if p.thread, err = w.Insert(insertThread, c.Thread, time.Now().UnixMicro()); err != nil {
			return nil, err
		}
	}
	newest, err := newestOfThread(w, p.thread)
	if err != nil {
		return nil, err
	}
	t := &tip{
		key: max(newest.key, firstKey(p.thread)) + 1, id: c.ID, packed: p.id,
		name: c.Namespace, time: now(newest), origin: originOf(c),
	}
	if t.namespace, err = enterNamespace(w, p.thread, c.Namespace); err != nil {
		return nil, err
	}
	if t.originKey, err = enterOrigin(w, p.thread, &t.origin); err != nil {
		return nil, err
	}
	if err := enterMark(w, t.key, t.packed); err != nil {
		return nil, err
	}
	args := []any{t.key, t.namespace, parentBack(t.key, p.parent)}
	if _, err := w.Exec(insertStep, s.appendRow(args, c, t)...); err != nil {
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

// A place is where a checkpoint goes.
type place struct {
	thread int64 // 0 if there is none yet
	parent int64 // key, 0 for none
	id     any
}

// findPlace returns nil if c is the newest checkpoint already.
func findPlace(w *sqlitedb.Session, c *checkpoint.Checkpoint, head string) (*place, error) {
	thread, err := findThread(w, c.Thread)
	if err != nil {
		return nil, err
	}
	p := &place{thread: thread, id: packID(c.ID)}
	var newest found
	if thread != 0 {
		if newest, err = findNewest(w, thread, c.Namespace); err != nil {
			return nil, err
		}
	}
	if newest.id != head || newest.id == c.ID {
		if newest.id == c.ID && newest.parentID == c.Parent {
			return nil, nil
		}
		return nil, fmt.Errorf("it was to follow %q, but the newest is %q: %w", head, newest.id, checkpoint.ErrConflict)
	}
	if thread != 0 {
		key, _, err := findID(w, thread, p.id)
		if err != nil {
			return nil, err
		}
		if key != 0 {
			return nil, fmt.Errorf("its id exists: %w", checkpoint.ErrConflict)
		}
	}
	switch c.Parent {
	case "":
	case head:
		p.parent = newest.key
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
