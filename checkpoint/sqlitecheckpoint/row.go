package sqlitecheckpoint

import (
	"fmt"
	"maps"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// rowColumns are what a row reads; the parent is p.
const rowColumns = `s.key, s.namespace, s.parent, p.id, s.id, s.step, s.source, s.origin, s.time, s.control`

// A row is a checkpoint as history shows it.
type row struct {
	key       int64
	parent    int64 // key, 0 for none
	namespace int64
	origin    int64
	c         checkpoint.Checkpoint
}

// scanRow reads rowColumns, and then what follows them into dest. A row that is
// damaged comes with its error, and its id as far as it is known.
func scanRow(scan func(...any) error, dest ...any) (*row, error) {
	r := &row{}
	var parentID, id, source any
	var back, at int64
	var control []byte
	err := scan(append([]any{
		&r.key, &r.namespace, &back, &parentID, &id, &r.c.Step, &source, &r.origin, &at, &control,
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
	if r.c.Source, err = unpackSource(source); err != nil {
		return r, err
	}
	r.c.Time = time.UnixMicro(at)
	h := header{id: r.c.ID, parent: r.c.Parent, step: r.c.Step, source: r.c.Source, time: at}
	r.c.Control, err = parseControl(control, &h)
	return r, err
}

// complete adds what is stored elsewhere.
func (r *row) complete(q *sqlitedb.Session, n *names, thread string) error {
	r.c.Thread = thread
	var err error
	if r.c.Namespace, err = n.namespace(q, r.namespace); err != nil {
		return err
	}
	o, err := n.origin(q, r.origin)
	if err != nil {
		return err
	}
	r.c.Run, r.c.Version, r.c.Metadata = o.run, o.version, maps.Clone(o.metadata)
	return nil
}
