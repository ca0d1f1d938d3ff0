package memcheckpoint

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// encode returns the changes as one string, which takes less memory than
// a slice of changes. It returns the empty string for nil.
func encode(changes []checkpoint.Change) string {
	if changes == nil {
		return ""
	}
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	*b = checkpoint.AppendChanges((*b)[:0], changes)
	return string(*b)
}

// decode returns the changes of a string that encode returned. They share no memory with
// the store.
func decode(encoded string) ([]checkpoint.Change, error) {
	if encoded == "" {
		return nil, nil
	}
	changes, err := checkpoint.ParseChanges([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("memcheckpoint: stored changes: %w", err)
	}
	return changes, nil
}

// lineage returns the lineage of a record, oldest first.
func (r *record) lineage() ([]checkpoint.Delta, error) {
	n := 0
	for at := r; at != nil; at = at.previous {
		n++
	}
	deltas := make([]checkpoint.Delta, n)
	for at := r; at != nil; at = at.previous {
		n--
		encoded := at.changes
		if at.snapshot != "" {
			encoded = at.snapshot
		}
		changes, err := decode(encoded)
		if err != nil {
			return nil, err
		}
		deltas[n] = checkpoint.Delta{ID: at.id, Source: at.label.source, Snapshot: at.snapshot != "", Changes: changes}
	}
	return deltas, nil
}

// pendingWrites has the pending writes of one checkpoint. Their data never changes.
type pendingWrites struct {
	list   []checkpoint.Write
	sorted bool // list is ordered by task and index, and has no replaced writes
}

// putWrites adds pending writes to a record. A write with the task and index of
// an earlier write replaces it.
func (t *thread) putWrites(r *record, writes []checkpoint.Write) {
	if len(writes) == 0 {
		return
	}
	if t.pending == nil {
		t.pending = map[*record]*pendingWrites{}
	}
	p := t.pending[r]
	if p == nil {
		p = &pendingWrites{}
		t.pending[r] = p
	}
	for _, w := range writes {
		w.Data = append([]byte(nil), w.Data...)
		p.list = append(p.list, w)
	}
	p.sorted = false
}

// sort orders the writes by task and index, and drops a write if a later one replaced it.
func (p *pendingWrites) sort() {
	if p.sorted {
		return
	}
	compare := func(a, b checkpoint.Write) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
	}
	slices.SortStableFunc(p.list, compare)
	list := p.list[:0]
	for i, w := range p.list {
		if i+1 == len(p.list) || compare(w, p.list[i+1]) != 0 {
			list = append(list, w)
		}
	}
	clear(p.list[len(list):])
	p.list, p.sorted = list, true
}

// writes returns a copy of the pending writes of a record, ordered by task and
// index.
func (t *thread) writes(r *record) []checkpoint.Write {
	p := t.pending[r]
	if p == nil {
		return nil
	}
	p.sort()
	size := 0
	for i := range p.list {
		size += len(p.list[i].Data)
	}
	data := make([]byte, 0, size) // of all the writes
	writes := slices.Clone(p.list)
	for i := range writes {
		if w := &writes[i]; w.Data != nil {
			start := len(data)
			data = append(data, w.Data...)
			w.Data = data[start:len(data):len(data)]
		}
	}
	return writes
}
