package memcheckpoint

import (
	"cmp"
	"fmt"
	"slices"
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

// pendingWrites has the pending writes of one checkpoint.
type pendingWrites map[writeKey]pendingWrite

type writeKey struct {
	task  string
	index int
}

type pendingWrite struct {
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
		t.pending = map[*record]pendingWrites{}
	}
	pending := t.pending[r]
	if pending == nil {
		pending = pendingWrites{}
		t.pending[r] = pending
	}
	for i := range writes {
		w := &writes[i]
		pending[writeKey{w.Task, w.Index}] = pendingWrite{channel: w.Channel, kind: w.Kind, data: string(w.Data)}
	}
}

// writes returns a copy of the pending writes of a record, ordered by task and
// index.
func (t *thread) writes(r *record) []checkpoint.Write {
	pending := t.pending[r]
	if len(pending) == 0 {
		return nil
	}
	writes := make([]checkpoint.Write, 0, len(pending))
	for k, w := range pending {
		writes = append(writes, checkpoint.Write{
			Task: k.task, Index: k.index, Channel: w.channel, Kind: w.kind, Data: bytesOf(w.data),
		})
	}
	slices.SortFunc(writes, func(a, b checkpoint.Write) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
	})
	return writes
}
