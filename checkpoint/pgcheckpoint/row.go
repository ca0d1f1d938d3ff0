package pgcheckpoint

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// rowColumns are what a row reads of a step s, its parent p and its origin o. The
// name of its namespace, if it is not the root's, comes from v.
const (
	rowColumns = `s.seq, s.id, s.name, p.id, p.name, s.step, s.source, s.time, s.control,
	o.run, o.version, o.meta, o.digest, s.space, v.name`

	rowJoins = `LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = s.thread AND p.seq = s.parent
	LEFT JOIN weft.cp_origin o ON o.thread = s.thread AND o.key = s.origin
	LEFT JOIN weft.cp_space v ON s.space > 0 AND v.thread = s.thread AND v.key = s.space`
)

// A row is a checkpoint as history shows it.
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

// checkpoint returns what the row says, without values.
func (r *row) checkpoint() (c checkpoint.Checkpoint, err error) {
	if c.ID, err = r.id.text(); err != nil {
		return c, err
	}
	if c.Parent, err = r.parent.text(); err != nil {
		return c, fmt.Errorf("its parent: %w", err)
	}
	c.Thread, c.Step, c.Source, c.Time = r.thread, int(r.step), checkpoint.Source(r.source), r.time
	h := header{id: c.ID, parent: c.Parent, step: c.Step, source: c.Source}
	if c.Control, err = h.openControl(r.control); err != nil {
		return c, err
	}
	if r.run == nil || r.version == nil || (r.space > 0) != (r.namespace != nil) {
		return c, fmt.Errorf("its origin or namespace is missing: %w", checkpoint.ErrCorrupt)
	}
	if r.namespace != nil {
		c.Namespace = *r.namespace
	}
	o, err := readOrigin(*r.run, *r.version, r.meta, r.digest)
	if err != nil {
		return c, err
	}
	c.Run, c.Version, c.Metadata = o.run, o.version, o.metadata
	if c.Writes, err = r.writes.unpack(); err != nil {
		return c, err
	}
	return c, nil
}
