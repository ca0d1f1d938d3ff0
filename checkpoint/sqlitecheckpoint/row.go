package sqlitecheckpoint

import (
	"fmt"
	"maps"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// rowColumns lists the columns that scanRow reads. s is the row, and p is its parent's row.
const rowColumns = `s.key, s.namespace, s.parent, p.id, s.id, s.step, s.source, s.origin, s.time, s.control`

// A row is a checkpoint without its changes, snapshot and lineage.
type row struct {
	key       int64
	parent    int64 // key, 0 for none
	namespace int64
	origin    int64
	time      int64
	control   []byte // as stored
	c         checkpoint.Checkpoint
}

// scanRow scans rowColumns, and the columns after them into dest. If it returns an error, it
// also returns the row, so that the error can name the checkpoint. Call complete before using
// the row.
func scanRow(scan func(...any) error, dest ...any) (*row, error) {
	r := &row{}
	var parentID, id, source any
	var back int64
	err := scan(append([]any{
		&r.key, &r.namespace, &back, &parentID, &id, &r.c.Step, &source, &r.origin, &r.time, &r.control,
	}, dest...)...)
	if err != nil {
		return r, err
	}
	r.parent = parentKey(r.key, back)
	if r.c.ID, err = unpackID(id); err != nil {
		return r, err
	}
	if r.parent != 0 {
		if r.c.Parent, err = unpackID(parentID); err != nil {
			return r, fmt.Errorf("its parent: %w", err)
		}
	}
	r.c.Source, err = unpackSource(source)
	r.c.Time = time.UnixMicro(r.time)
	return r, err
}

// complete adds the columns of other tables, and verifies the checksum of the row.
func (r *row) complete(q *sqlitedb.Session, n *names, thread string) error {
	r.c.Thread = thread
	var err error
	if r.c.Namespace, err = n.namespace(q, threadOf(r.key), r.namespace); err != nil {
		return err
	}
	o, err := n.origin(q, threadOf(r.key), r.origin)
	if err != nil {
		return err
	}
	r.c.Run, r.c.Version, r.c.Metadata = o.run, o.version, maps.Clone(o.metadata)
	h := headerOf(&r.c, o, numberOf(r.key), r.time)
	r.c.Control, err = parseControl(r.control, &h)
	return err
}

func headerOf(c *checkpoint.Checkpoint, o *origin, number, time int64) header {
	return header{
		id: c.ID, parent: c.Parent, step: c.Step, source: c.Source, time: time,
		namespace: c.Namespace, origin: o.digest, number: number,
	}
}
