package memcheckpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// encode returns the changes as one immutable text, which takes less memory than
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

// decode returns changes that share no memory with the store.
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

// bytesOf returns a copy of a value, and nil for an empty one.
func bytesOf(value string) []byte {
	if value == "" {
		return nil
	}
	return []byte(value)
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

// pendingWrites are the pending writes of one checkpoint.
type pendingWrites struct {
	byKey map[writeKey]*pendingWrite
	// inOrder holds the values of byKey. If sorted is set, they are ordered by task and
	// index.
	inOrder []*pendingWrite
	sorted  bool
}

type writeKey struct {
	task  string
	index int
}

type pendingWrite struct {
	writeKey
	channel string
	kind    uint8
	data    string
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
		p = &pendingWrites{byKey: map[writeKey]*pendingWrite{}}
		t.pending[r] = p
	}
	for i := range writes {
		w := &writes[i]
		p.put(pendingWrite{writeKey{w.Task, w.Index}, w.Channel, w.Kind, string(w.Data)})
	}
}

func (p *pendingWrites) put(w pendingWrite) {
	if earlier := p.byKey[w.writeKey]; earlier != nil {
		*earlier = w
		return
	}
	p.byKey[w.writeKey] = &w
	p.inOrder, p.sorted = append(p.inOrder, &w), false
}

// copy returns a copy that later writes to p do not change.
func (p *pendingWrites) copy() *pendingWrites {
	c := &pendingWrites{byKey: make(map[writeKey]*pendingWrite, len(p.byKey))}
	for _, w := range p.inOrder {
		c.put(*w)
	}
	return c
}

// writes returns a copy of the pending writes of a record, ordered by task and
// index.
func (t *thread) writes(r *record) []checkpoint.Write {
	p := t.pending[r]
	if p == nil {
		return nil
	}
	if !p.sorted {
		slices.SortFunc(p.inOrder, func(a, b *pendingWrite) int {
			if a.task != b.task {
				return strings.Compare(a.task, b.task)
			}
			return cmp.Compare(a.index, b.index)
		})
		p.sorted = true
	}
	size := 0
	for _, w := range p.inOrder {
		size += len(w.data)
	}
	data := make([]byte, 0, size) // of all the writes
	writes := make([]checkpoint.Write, len(p.inOrder))
	for i, w := range p.inOrder {
		start := len(data)
		data = append(data, w.data...)
		writes[i] = checkpoint.Write{Task: w.task, Index: w.index, Channel: w.channel, Kind: w.kind}
		if w.data != "" {
			writes[i].Data = data[start:len(data):len(data)]
		}
	}
	return writes
}
