package pgcheckpoint

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// rowColumns lists the columns of a row: of its step s, its parent p, its run o and its
// namespace v. The root namespace has no row in cp_space.
const (
	rowColumns = `s.seq, s.id, s.name, p.id, p.name, s.step, s.source, s.time, s.control,
	o.run, o.version, o.meta, o.digest, s.space, v.name`

	rowJoins = `LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = s.thread AND p.seq = s.parent
	LEFT JOIN weft.cp_origin o ON o.thread = s.thread AND o.key = s.origin
	LEFT JOIN weft.cp_space v ON s.space > 0 AND v.thread = s.thread AND v.key = s.space`
)

// A row holds the columns of a checkpoint that List reads: all but the changes, the snapshot
// and the base.
type row struct {
	seq          int32
	id, parent   id
	step         int64
	source       string
	time         time.Time
	control      []byte
	run, version *string
	meta, digest []byte
	space        int32
	namespace    *string
	writes       packedWrites
	thread       string
}

func (r *row) fields() []any {
	return []any{
		&r.seq, &r.id.uuid, &r.id.name, &r.parent.uuid, &r.parent.name, &r.step, &r.source, &r.time, &r.control,
		&r.run, &r.version, &r.meta, &r.digest, &r.space, &r.namespace,
	}
}

func (r *row) writeFields() []any { return []any{&r.writes.tasks, &r.writes.numbers, &r.writes.data} }

// checkpoint returns the checkpoint of the row, without changes, snapshot and lineage.
func (r *row) checkpoint() (c checkpoint.Checkpoint, err error) {
	if c.ID, err = r.id.text(); err != nil {
		return c, err
	}
	if c.Parent, err = r.parent.text(); err != nil {
		return c, fmt.Errorf("the id of its parent: %w", err)
	}
	c.Thread, c.Step, c.Source, c.Time = r.thread, int(r.step), checkpoint.Source(r.source), r.time
	if r.run == nil || r.version == nil || (r.space != 0) != (r.namespace != nil) {
		return c, fmt.Errorf("the row of its run or of its namespace is missing: %w", checkpoint.ErrCorrupt)
	}
	if r.namespace != nil {
		c.Namespace = *r.namespace
	}
	h := header{id: c.ID, parent: c.Parent, namespace: c.Namespace, step: c.Step, source: r.source, digest: r.digest}
	if c.Control, err = h.openControl(r.control); err != nil {
		return c, err
	}
	info, err := readRunInfo(*r.run, *r.version, r.meta, r.digest)
	if err != nil {
		return c, err
	}
	c.Run, c.Version, c.Metadata = info.run, info.version, info.metadata
	if c.Writes, err = r.writes.unpack(c.ID); err != nil {
		return c, err
	}
	return c, nil
}
