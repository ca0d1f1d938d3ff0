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
	partColumns = `SELECT s.key, s.parent, s.id, s.source, s.whole = 1, s.base, s.snapshot IS NOT NULL,
	coalesce(s.snapshot, s.changes), s.seal FROM cp_step s `

	// lineageQuery has the arguments key and the thread's first key. The parent of most rows is
	// the row before, so one scan reads a lineage without forks. Each fork starts another scan.
	lineageQuery = partColumns + `WHERE s.key <= ? AND s.key > ? ORDER BY s.key DESC`

	// partQuery has the argument key.
	partQuery = partColumns + `WHERE s.key = ?`
)

// A part has the deltas that one row adds to a lineage.
type part struct {
	layout
	base   []byte // the deltas of removed ancestors; nil for none
	values []byte // the snapshot if there is one, else the changes
}

// scanPart reads a row of partColumns. It copies the values of all rows into one buffer, room,
// which saves an allocation for each row.
func scanPart(scan func(...any) error, room *[]byte) (*part, error) {
	p := &part{}
	var id, source any
	var back int64
	var values sql.RawBytes
	var seal sql.NullInt64
	if err := scan(&p.key, &back, &id, &source, &p.whole, &p.base, &p.snapshot, &values, &seal); err != nil {
		return nil, err
	}
	if len(*room)+len(values) > cap(*room) {
		*room = make([]byte, 0, max(min(2*cap(*room), lineageRoom), len(values)))
	}
	from := len(*room)
	*room = append(*room, values...)
	p.values = (*room)[from:len(*room):len(*room)]
	p.parent = parentKey(p.key, back)
	p.hasBase = p.base != nil
	var err error
	if p.id, err = unpackID(id); err != nil {
		return nil, err
	}
	if p.source, err = unpackSource(source); err != nil {
		return nil, err
	}
	return p, p.verify(seal)
}

const lineageRoom = 64 << 10

// own returns the delta of the checkpoint, without the deltas of its base.
func (p *part) own() (checkpoint.Delta, error) {
	changes, err := parseChanges(p.values)
	return checkpoint.Delta{ID: p.id, Source: p.source, Snapshot: p.snapshot, Changes: changes}, err
}

// appendNewest appends the deltas of p to a lineage, newest first.
func (p *part) appendNewest(deltas []checkpoint.Delta) ([]checkpoint.Delta, error) {
	own, err := p.own()
	if err != nil {
		return nil, err
	}
	deltas = append(deltas, own)
	if p.snapshot || p.base == nil {
		return deltas, nil
	}
	base, err := parseDeltas(p.base)
	if err != nil {
		return nil, err
	}
	slices.Reverse(base)
	return append(deltas, base...), nil
}

// readLineage returns the lineage of the checkpoint whose part is last, oldest delta first.
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
