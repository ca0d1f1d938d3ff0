package pgcheckpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// getQuery takes tenant, thread, namespace, and id or null. What it reads is of one
// moment.
const getQuery = `SELECT * FROM weft.cp_load($1::text, $2::text, $3::text, $4::uuid)`

// Get implements [checkpoint.Store].
func (s *Store) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.get(ctx, &k)
	if err != nil {
		return checkpoint.Checkpoint{}, s.fail("get", k, err)
	}
	return c, nil
}

// get sets the id in k when it is known.
func (s *Store) get(ctx context.Context, k *checkpoint.Key) (checkpoint.Checkpoint, error) {
	if err := checkKey(*k); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	var l *loaded
	text, args := s.sql(getQuery), []any{s.tenant, k.Thread, k.Namespace, optionalID(k.ID)}
	err := s.retry(ctx, func(bool) error {
		l = &loaded{}
		return s.link.send(ctx, s.timeout, text, args, l.read)
	})
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return l.checkpoint(k)
}

// loaded are the rows of a checkpoint and its lineage.
type loaded struct {
	parts  []part
	target *row  // nil if there is none
	grant  grant // what became of a lease, if one was asked for

	own    part  // of the row that is being read
	fields []any // where its columns go
}

// A part is what one row adds to a lineage.
type part struct {
	seq               int32
	id                id
	source            string
	whole             bool
	base              []byte
	snapshot, changes []byte
}

func (p *part) fields() []any {
	return []any{&p.seq, &p.id.uuid, &p.id.name, &p.source, &p.whole, &p.base, &p.snapshot, &p.changes}
}

// stepColumn is null but in the rows of the checkpoint and of a lease.
const stepColumn = 10

// read reads a row. Long lineages have thousands, of which only the first columns are
// looked at.
func (l *loaded) read(rows pgx.Rows) error {
	raw := rows.RawValues()
	if len(raw) <= stepColumn || raw[stepColumn] != nil {
		return l.readTarget(rows)
	}
	if l.fields == nil {
		l.fields = append(l.own.fields(), make([]any, len(raw)-len(l.own.fields()))...)
	}
	err := rows.Scan(l.fields...)
	l.parts = append(l.parts, l.own)
	return err
}

func (l *loaded) readTarget(rows pgx.Rows) error {
	var p part
	var r row
	var space int32
	var at *time.Time
	err := rows.Scan(append(p.fields(), append([]any{
		&r.parent.uuid, &r.parent.name, &r.step, &at, &r.control,
		&r.run, &r.version, &r.meta, &r.digest, &space, &r.namespace,
	}, r.writeFields()...)...)...)
	if err != nil {
		return err
	}
	if at == nil {
		l.grant = grant{given: p.whole, epoch: space, parked: p.source != "", runs: r.step}
		return nil
	}
	r.seq, r.id, r.source, r.space, r.time = p.seq, p.id, p.source, space, *at
	l.parts, l.target = append(l.parts, p), &r
	return nil
}

// checkpoint puts the rows together.
func (l *loaded) checkpoint(k *checkpoint.Key) (c checkpoint.Checkpoint, err error) {
	if l.target == nil {
		return c, checkpoint.ErrNotFound
	}
	l.target.thread = k.Thread
	if c, err = l.target.checkpoint(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	k.ID = c.ID
	slices.SortFunc(l.parts, func(a, b part) int { return int(a.seq) - int(b.seq) })
	own := &l.parts[len(l.parts)-1]
	if c.Changes, err = unpackChanges(own.changes); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if own.snapshot != nil {
		if c.Snapshot, err = unpackChanges(own.snapshot); err != nil {
			return checkpoint.Checkpoint{}, err
		}
	}
	if c.Lineage, err = lineageOf(l.parts); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return c, nil
}

// lineageOf returns what a state is rebuilt from, given parts that are oldest
// first.
func lineageOf(parts []part) ([]checkpoint.Delta, error) {
	first := len(parts) - 1
	for first > 0 && !parts[first].whole {
		first--
	}
	deltas := make([]checkpoint.Delta, 0, len(parts)-first)
	for i := first; i < len(parts); i++ {
		var err error
		if deltas, err = parts[i].appendTo(deltas); err != nil {
			return nil, err
		}
	}
	return deltas, nil
}

// appendTo appends what p adds to a lineage.
func (p *part) appendTo(deltas []checkpoint.Delta) ([]checkpoint.Delta, error) {
	name, err := p.id.text()
	if err != nil {
		return nil, err
	}
	values, snapshot := p.changes, p.snapshot != nil
	if snapshot {
		values = p.snapshot
	} else if p.base != nil {
		base, err := unpackDeltas(p.base)
		if err != nil {
			return nil, fmt.Errorf("its ancestors before %q: %w", name, err)
		}
		deltas = append(deltas, base...)
	}
	changes, err := unpackChanges(values)
	if err != nil {
		return nil, fmt.Errorf("its ancestor %q: %w", name, err)
	}
	return append(deltas, checkpoint.Delta{
		ID: name, Source: checkpoint.Source(p.source), Snapshot: snapshot, Changes: changes,
	}), nil
}
