package pgcheckpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// A checkpoint, its lineage and its pending writes are read by one statement, and
// so are of one moment. It has a row for each part of the lineage, in any order,
// of which that of the checkpoint has all the columns.
//
// The lineage is as many ranges of rows as there are branches in it, from the root
// on: a range ends with the parent of the first row in the range behind it.
const (
	// The statement begins with the row of the checkpoint: targetNewest takes
	// tenant, thread and namespace, targetRoot tenant and thread, and
	// targetByID tenant, thread, namespace and id.
	targetRoot = `SELECT s.thread, s.seq, s.branch, s.root, t.seq AS counted FROM weft.cp_thread t
	JOIN weft.cp_step s ON s.thread = t.key AND s.space = 0
	WHERE t.tenant = $1::text AND t.id = $2::text`

	targetNewest = `SELECT s.thread, s.seq, s.branch, s.root, t.seq AS counted FROM weft.cp_thread t
	JOIN weft.cp_space v ON v.thread = t.key AND v.name = $3::text
	JOIN weft.cp_step s ON s.thread = t.key AND s.space = v.key AND s.space <> 0
	WHERE t.tenant = $1::text AND t.id = $2::text` + newest

	newest = ` ORDER BY s.seq DESC LIMIT 1`

	targetByID = `SELECT s.thread, s.seq, s.branch, s.root, t.seq AS counted FROM weft.cp_thread t
	JOIN weft.cp_step s ON s.thread = t.key AND s.id = $4::uuid AND s.space = weft.cp_space_key(t.key, $3::text)
	WHERE t.tenant = $1::text AND t.id = $2::text`

	loadParts = `, part AS (
	SELECT thread, branch, root, seq AS last FROM target
	UNION ALL
	SELECT part.thread, p.branch, part.root, p.seq FROM part
	CROSS JOIN LATERAL (SELECT f.parent FROM weft.cp_step f WHERE f.thread = part.thread
		AND f.seq >= greatest(part.branch, part.root) AND f.branch = part.branch ORDER BY f.seq LIMIT 1) f
	JOIN weft.cp_step p ON p.thread = part.thread AND p.seq = f.parent
	WHERE f.parent >= part.root AND f.parent > 0
)
`
	loadRows = `SELECT s.seq, s.id, s.name, s.source, s.whole, s.base, s.snapshot,
	CASE WHEN s.snapshot IS NULL OR s.seq = target.seq THEN s.changes END,
	NULL::uuid, NULL::text, NULL::bigint, NULL::timestamptz, NULL::bytea,
	NULL::text, NULL::text, NULL::jsonb, NULL::bytea, NULL::int, NULL::text, NULL::int,
	NULL::text[], NULL::bigint[], NULL::bytea[]
FROM target CROSS JOIN part JOIN weft.cp_step s ON s.thread = part.thread
	AND s.seq BETWEEN greatest(part.branch, part.root) AND part.last AND s.branch = part.branch AND s.seq <> target.seq
UNION ALL
SELECT s.seq, s.id, s.name, s.source, s.whole, s.base, s.snapshot, s.changes,
	p.id, p.name, s.step, s.time, s.control, o.run, o.version, o.meta, o.digest, s.space, v.name, target.counted,
	` + writeColumns + `
FROM target JOIN weft.cp_step s ON s.thread = target.thread AND s.seq = target.seq
` + rowJoins
)

const (
	getNewestRoot = `WITH RECURSIVE target AS MATERIALIZED (` + targetRoot + newest + `)` + loadParts + loadRows
	getNewest     = `WITH RECURSIVE target AS MATERIALIZED (` + targetNewest + `)` + loadParts + loadRows
	getByID       = `WITH RECURSIVE target AS MATERIALIZED (` + targetByID + `)` + loadParts + loadRows
)

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
	text, args := getNewestRoot, []any{s.tenant, k.Thread}
	switch {
	case k.ID != "":
		text, args = getByID, append(args, k.Namespace, packID(k.ID).uuid)
	case k.Namespace != "":
		text, args = getNewest, append(args, k.Namespace)
	}
	var l *loaded
	text = s.sql(text)
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
	parts   []part
	target  *row  // nil if there is none
	counted int32 // the last number that the thread had given
	grant   grant // what became of a lease, if one was asked for
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

func (l *loaded) read(rows pgx.Rows) error {
	l.parts = append(l.parts, part{})
	p := &l.parts[len(l.parts)-1]
	r := row{}
	var step *int64
	var space, counted *int32
	var at *time.Time
	err := rows.Scan(append(p.fields(), append([]any{
		&r.parent.uuid, &r.parent.name, &step, &at, &r.control,
		&r.run, &r.version, &r.meta, &r.digest, &space, &r.namespace, &counted,
	}, r.writeFields()...)...)...)
	if err != nil || step == nil {
		return err
	}
	if !p.id.uuid.Valid {
		l.parts = l.parts[:len(l.parts)-1]
		l.grant = grant{given: p.whole, epoch: *space, counted: p.seq, busy: time.Duration(*step) * time.Microsecond}
		return nil
	}
	r.seq, r.id, r.source, r.step, r.space, r.time = p.seq, p.id, p.source, *step, *space, *at
	l.target, l.counted = &r, *counted
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
