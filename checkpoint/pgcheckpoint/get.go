package pgcheckpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/weft-go/weft/checkpoint"
)

// headRow is a query for the recorded head of a thread and its number, as a row of
// cp_load's type with the source 'head'. It has the parameters tenant and thread.
const headRow = `SELECT (ROW(t.newest, t.head, NULL, 'head', false, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL,
	NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL)::weft.cp_part).* FROM weft.cp_thread t
	WHERE t.tenant = $1::text AND t.id = $2::text AND t.head IS NOT NULL`

// getQuery has the parameters tenant, thread, namespace, and id or null. It reads one
// snapshot of the database. For the newest checkpoint of the root namespace, it also
// reads the recorded head.
const getQuery = `SELECT * FROM weft.cp_load($1::text, $2::text, $3::text, $4::uuid)
	UNION ALL ` + headRow + ` AND $3::text = '' AND $4::uuid IS NULL`

// Get implements [checkpoint.Store].
func (s *Store) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := s.get(ctx, &k)
	if err != nil {
		return checkpoint.Checkpoint{}, s.fail("get", k, err)
	}
	return c, nil
}

// get is Get, but does not add the key to its errors. It sets k.ID to the id of the
// checkpoint.
func (s *Store) get(ctx context.Context, k *checkpoint.Key) (checkpoint.Checkpoint, error) {
	if err := checkKey(*k); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	var l *loaded
	text, args := s.sql(getQuery), []any{s.tenant, k.Thread, k.Namespace, optionalID(k.ID)}
	err := s.retry(ctx, s.timeout, func(t try) error {
		l = &loaded{}
		return s.link.send(ctx, t.limit, text, args, l.read)
	})
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return l.checkpoint(k)
}

// loaded holds the rows of a checkpoint and its lineage.
type loaded struct {
	parts  []part
	target *row  // the row of the checkpoint; nil if it does not exist
	grant  grant // the answer to the request for a lease, if there was one
	head   head  // of the thread; null if it was not read, or is not recorded

	own    part  // the row that is being read
	fields []any // the destinations of the columns of own
}

// A head is the newest checkpoint of the root namespace according to the row of its
// thread.
type head struct {
	id  pgtype.UUID
	seq int32
}

// A part is the contribution of one row to a lineage.
type part struct {
	seq               int32
	id                id
	source            string
	whole             bool // a lineage can start at this row
	base              []byte
	snapshot, changes []byte
}

func (p *part) fields() []any {
	return []any{&p.seq, &p.id.uuid, &p.id.name, &p.source, &p.whole, &p.base, &p.snapshot, &p.changes}
}

// stepColumn is the index of the column step. In the rows of ancestors, this column is null.
// It is set in the rows of the requested checkpoint, a lease and a head.
const stepColumn = 10

// read reads a row. A long lineage has thousands of rows in which only the first columns
// are set, so read does not scan the others.
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
	switch {
	case err != nil:
		return err
	case at == nil && p.source == "head":
		l.head = head{id: p.id.uuid, seq: p.seq}
		return nil
	case at == nil:
		l.grant = grant{given: p.whole, epoch: space, parked: p.source != "", runs: r.step, left: time.Duration(r.step) * time.Microsecond}
		return nil
	}
	r.seq, r.id, r.source, r.space, r.time = p.seq, p.id, p.source, space, *at
	l.parts, l.target = append(l.parts, p), &r
	return nil
}

// differsFromHead reports whether a recorded head was read and the checkpoint is another one
// or does not exist.
func (l *loaded) differsFromHead() bool {
	return l.head.id.Valid && (l.target == nil || l.target.id.uuid != l.head.id || l.target.seq != l.head.seq)
}

// checkpoint assembles the checkpoint from the rows, and sets k.ID to its id.
func (l *loaded) checkpoint(k *checkpoint.Key) (c checkpoint.Checkpoint, err error) {
	if l.differsFromHead() {
		return c, fmt.Errorf("the newest checkpoint is not the recorded head, see Repair: %w", checkpoint.ErrCorrupt)
	}
	if l.target == nil {
		return c, checkpoint.ErrNotFound
	}
	l.target.thread = k.Thread
	if c, err = l.target.checkpoint(); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	k.ID = c.ID
	slices.SortFunc(l.parts, func(a, b part) int { return int(a.seq) - int(b.seq) })
	if c.Lineage, err = lineageOf(l.parts); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	own, delta := &l.parts[len(l.parts)-1], &c.Lineage[len(c.Lineage)-1]
	if own.snapshot == nil {
		c.Changes = delta.Changes
		return c, nil
	}
	c.Snapshot = delta.Changes
	untie(own.changes, valueSum(tiedSnapshotChanges, c.ID, own.source, ""))
	if c.Changes, err = unpackChanges(own.changes); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return c, nil
}

// lineageOf returns the deltas from which a state is rebuilt. The parts are ordered,
// oldest first.
func lineageOf(parts []part) ([]checkpoint.Delta, error) {
	first := len(parts) - 1
	for first > 0 && !parts[first].whole {
		first--
	}
	deltas := make([]checkpoint.Delta, 0, len(parts)-first)
	for i := first; i < len(parts); i++ {
		var err error
		if deltas, err = parts[i].appendTo(deltas, lastID(deltas)); err != nil {
			return nil, err
		}
	}
	return deltas, nil
}

func lastID(deltas []checkpoint.Delta) string {
	if len(deltas) == 0 {
		return ""
	}
	return deltas[len(deltas)-1].ID
}

// appendTo appends the deltas of p to a lineage. before is the id of the delta before
// them, or empty if there is none.
func (p *part) appendTo(deltas []checkpoint.Delta, before string) ([]checkpoint.Delta, error) {
	name, err := p.id.text()
	if err != nil {
		return nil, err
	}
	kind, values, snapshot := byte(tiedChanges), p.changes, p.snapshot != nil
	switch {
	case snapshot:
		kind, values, before = tiedSnapshot, p.snapshot, ""
	case p.base != nil:
		untie(p.base, valueSum(tiedBase, name, p.source, before))
		base, err := unpackDeltas(p.base)
		if err != nil {
			return nil, fmt.Errorf("the base of checkpoint %q: %w", name, err)
		}
		deltas, before = append(deltas, base...), lastID(base)
	}
	untie(values, valueSum(kind, name, p.source, before))
	changes, err := unpackChanges(values)
	if err != nil {
		return nil, fmt.Errorf("the changes of checkpoint %q: %w", name, err)
	}
	return append(deltas, checkpoint.Delta{
		ID: name, Source: checkpoint.Source(p.source), Snapshot: snapshot, Changes: changes,
	}), nil
}
