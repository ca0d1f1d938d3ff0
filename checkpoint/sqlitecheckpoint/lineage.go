package sqlitecheckpoint

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

const (
	partColumns = `SELECT s.key, s.parent, s.id, s.source, s.whole, s.base, s.snapshot IS NOT NULL,
	coalesce(s.snapshot, s.changes) FROM cp_step s `

	// lineageQuery takes a key and the thread's first key. Most parents are
	// the row before, so that a lineage is one scan, and one more for each
	// fork in it.
	lineageQuery = partColumns + `WHERE s.key <= ? AND s.key > ? ORDER BY s.key DESC`

	// partQuery takes the key.
	partQuery = partColumns + `WHERE s.key = ?`
)

// A part is what one row adds to a lineage.
type part struct {
	key, parent int64 // parent is 0 for none
	id          string
	source      checkpoint.Source
	whole       bool
	base        []byte
	snapshot    bool
	values      []byte // the snapshot if there is one, else the changes
}

// scanPart reads a row of lineageQuery. It copies the values into room, of
// which parts are handed out: a long lineage has thousands.
func scanPart(scan func(...any) error, room *[]byte) (*part, error) {
	p := &part{}
	var id, source any
	var back int64
	var values sql.RawBytes
	if err := scan(&p.key, &back, &id, &source, &p.whole, &p.base, &p.snapshot, &values); err != nil {
		return nil, err
	}
	if len(*room)+len(values) > cap(*room) {
		*room = make([]byte, 0, max(min(2*cap(*room), lineageRoom), len(values)))
	}
	from := len(*room)
	*room = append(*room, values...)
	p.values = (*room)[from:len(*room):len(*room)]
	p.parent = parentKey(p.key, back)
	var err error
	if p.id, err = unpackID(id); err != nil {
		return nil, err
	}
	p.source, err = unpackSource(source)
	return p, err
}

const lineageRoom = 64 << 10

// own returns the delta of the checkpoint itself.
func (p *part) own() (checkpoint.Delta, error) {
	changes, err := checkpoint.ParseChanges(p.values)
	return checkpoint.Delta{ID: p.id, Source: p.source, Snapshot: p.snapshot, Changes: changes}, err
}

// appendNewest appends what p adds to a lineage whose newest delta comes first.
func (p *part) appendNewest(deltas []checkpoint.Delta) ([]checkpoint.Delta, error) {
	own, err := p.own()
	if err != nil {
		return nil, err
	}
	deltas = append(deltas, own)
	if p.snapshot || p.base == nil {
		return deltas, nil
	}
	base, err := checkpoint.ParseDeltas(p.base)
	if err != nil {
		return nil, err
	}
	slices.Reverse(base)
	return append(deltas, base...), nil
}

// readLineage returns what the state of the checkpoint is rebuilt from, oldest first.
func readLineage(ctx context.Context, q *sqlitedb.Session, last *part) ([]checkpoint.Delta, error) {
	deltas, err := last.appendNewest(nil)
	if err != nil {
		return nil, err
	}
	var room []byte
	next := last.parent
	if last.whole {
		next = 0
	}
	for next != 0 {
		from := next
		err := q.Each(lineageQuery, []any{from, firstKey(threadOf(from))}, func(scan func(...any) error) (bool, error) {
			p, err := scanPart(scan, &room)
			if err != nil || p.key != next {
				return false, err
			}
			if deltas, err = p.appendNewest(deltas); err != nil {
				return false, fmt.Errorf("its ancestor %q: %w", p.id, err)
			}
			next = p.parent
			if p.whole {
				next = 0
			}
			return next != 0, ctx.Err()
		})
		if err != nil {
			return nil, err
		}
		if next == from {
			return nil, fmt.Errorf("an ancestor of it is missing: %w", checkpoint.ErrCorrupt)
		}
	}
	slices.Reverse(deltas)
	return deltas, nil
}
