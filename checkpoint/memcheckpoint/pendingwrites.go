package memcheckpoint

import (
	"cmp"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

// pendingWrites has the pending writes of one checkpoint. Their data never changes.
type pendingWrites struct {
	list   []checkpoint.Write
	sorted bool // list is ordered by task and index, and has no replaced writes
}

// putWrites adds pending writes to the record at an index. A write with the task and index of
// an earlier write replaces it.
func (t *thread) putWrites(at int32, writes []checkpoint.Write) {
	if len(writes) == 0 {
		return
	}
	if t.pending == nil {
		t.pending = map[int32]*pendingWrites{}
	}
	p := t.pending[at]
	if p == nil {
		p = &pendingWrites{}
		t.pending[at] = p
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

// writes returns a copy of the pending writes of the record at an index, ordered by task and
// index.
func (t *thread) writes(at int32) []checkpoint.Write {
	p := t.pending[at]
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
