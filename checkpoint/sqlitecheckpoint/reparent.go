package sqlitecheckpoint

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/internal/lineage"
	"github.com/weft-go/weft/internal/sqlitedb"
)

const (
	// reparentQuery has the argument key.
	reparentQuery = `SELECT ` + rowColumns + `, s.whole = 1, s.base, s.snapshot IS NOT NULL, s.seal FROM cp_step s ` +
		joinParent + `WHERE s.key = ?`
	updateParent = `UPDATE cp_step SET parent = ?, control = ?, base = ?, whole = ?, seal = ? WHERE key = ?`
	idQuery      = `SELECT id FROM cp_step WHERE key = ?`
)

// reparent updates the kept checkpoints whose parents are removed. The parent of each
// becomes the nearest kept ancestor. Each also gets a base with the deltas of the removed
// ancestors that its lineage needs.
func (s *Store) reparent(w *sqlitedb.Session, steps []step) error {
	index := make(map[int64]int, len(steps))
	tree := make([]lineage.Node, len(steps))
	for i, n := range steps {
		index[n.key] = i
		parent := -1
		if n.parent != 0 {
			at, ok := index[n.parent]
			if !ok {
				return fmt.Errorf("a parent is missing: %w", checkpoint.ErrCorrupt)
			}
			parent = at
		}
		tree[i] = lineage.Node{Parent: parent, Whole: n.whole, Remove: n.remove}
	}
	for _, g := range lineage.Rebases(tree) {
		if err := s.reparentOne(w, steps, g); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) reparentOne(w *sqlitedb.Session, steps []step, g lineage.Rebase) error {
	var r *row
	var l layout
	var base []byte
	var seal sql.NullInt64
	err := w.Each(reparentQuery, []any{steps[g.Node].key}, func(scan func(...any) error) (more bool, err error) {
		r, err = scanRow(scan, &l.whole, &base, &l.snapshot, &seal)
		return false, err
	})
	if err != nil {
		return err
	}
	if err := r.complete(w, &s.names, ""); err != nil {
		return fmt.Errorf("checkpoint %q: %w", r.c.ID, err)
	}
	l.key, l.parent, l.id, l.source, l.hasBase = r.key, r.parent, r.c.ID, r.c.Source, base != nil
	if err := l.verify(seal); err != nil {
		return err
	}
	r.c.Parent, l.parent = "", 0
	if g.Parent >= 0 {
		l.parent = steps[g.Parent].key
		var id any
		if _, err := w.One(idQuery, []any{l.parent}, &id); err != nil {
			return err
		}
		if r.c.Parent, err = unpackID(id); err != nil {
			return err
		}
	}
	if len(g.Through) > 0 {
		if base, l.whole, err = joinBase(w, steps, g.Through, base); err != nil {
			return err
		}
		l.hasBase = true
	}
	o, err := s.names.origin(w, threadOf(r.key), r.origin)
	if err != nil {
		return err
	}
	h := headerOf(&r.c, o, numberOf(r.key), r.time)
	_, err = w.Exec(updateParent, parentBack(l.key, l.parent), appendControl(nil, &h, r.c.Control), base, l.whole, l.seal(), l.key)
	return err
}

// joinBase returns a base of the deltas of removed ancestors, followed by the deltas of the
// old base. whole reports whether the base begins with a snapshot.
func joinBase(w *sqlitedb.Session, steps []step, through []int, base []byte) (_ []byte, whole bool, err error) {
	var deltas []checkpoint.Delta // newest first
	if base != nil {
		if deltas, err = parseDeltas(base); err != nil {
			return nil, false, err
		}
		slices.Reverse(deltas)
	}
	var room []byte
	for _, i := range slices.Backward(through) {
		err := w.Each(partQuery, []any{steps[i].key}, func(scan func(...any) error) (bool, error) {
			p, err := scanPart(scan, &room)
			if err != nil {
				return false, err
			}
			deltas, err = p.appendNewest(deltas)
			return false, err
		})
		if err != nil {
			return nil, false, err
		}
	}
	slices.Reverse(deltas)
	return checkpoint.AppendDeltas(nil, deltas), deltas[0].Snapshot, nil
}
