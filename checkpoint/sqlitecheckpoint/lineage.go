package sqlitecheckpoint

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

const (
	partColumns = `s.whole, s.base, s.changes, s.snapshot`

	// lineageQuery takes a key and the thread's first key. Most parents are
	// the row before, so that a lineage is one scan, and one more for each
	// fork in it.
	lineageQuery = `SELECT s.key, s.parent, s.id, s.source, s.whole, s.base,
	CASE WHEN s.snapshot IS NULL THEN s.changes END, s.snapshot
	FROM cp_step s WHERE s.key <= ? AND s.key > ? ORDER BY s.key DESC`
)

// A part is what one row adds to a lineage.
type part struct {
	key, parent int64 // parent is 0 for none
	id          string
	source      checkpoint.Source
	whole       bool
	base        []byte
	changes     []byte
	snapshot    []byte
}

// dest is where partColumns go.
func (p *part) dest() []any {
	return []any{&p.whole, &p.base, &p.changes, &p.snapshot}
}

func scanPart(scan func(...any) error) (*part, error) {
	p := &part{}
	var id, source any
	var back int64
	if err := scan(append([]any{&p.key, &back, &id, &source}, p.dest()...)...); err != nil {
		return nil, err
	}
	p.parent = parentKey(p.key, back)
	var err error
	if p.id, err = unpackID(id); err != nil {
		return nil, err
	}
	p.source, err = unpackSource(source)
	return p, err
}

// own returns the delta of the checkpoint itself.
func (p *part) own() (checkpoint.Delta, error) {
	d := checkpoint.Delta{ID: p.id, Source: p.source, Snapshot: p.snapshot != nil}
	stored := p.changes
	if d.Snapshot {
		stored = p.snapshot
	}
	var err error
	d.Changes, err = checkpoint.ParseChanges(stored)
	return d, err
}

// appendNewest appends what p adds to a lineage whose newest delta comes first.
func (p *part) appendNewest(deltas []checkpoint.Delta) ([]checkpoint.Delta, error) {
	own, err := p.own()
	if err != nil {
		return nil, err
	}
	deltas = append(deltas, own)
	if own.Snapshot || p.base == nil {
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
func readLineage(ctx context.Context, q *session, last *part) ([]checkpoint.Delta, error) {
	deltas, err := last.appendNewest(nil)
	if err != nil {
		return nil, err
	}
	next := last.parent
	if last.whole {
		next = 0
	}
	for next != 0 {
		from := next
		err := q.each(lineageQuery, []any{from, firstKey(threadOf(from))}, func(scan func(...any) error) (bool, error) {
			p, err := scanPart(scan)
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
