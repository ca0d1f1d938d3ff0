package memcheckpoint

import (
	"bytes"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// A history holds the records of a thread and their data. Records, labels and data are added,
// and never change. So a copy of a history may be read without the lock of the thread.
//
// Records and data contain no pointers, so the garbage collector does not scan them.
type history struct {
	records recordList // in the order in which the store accepted them
	labels  []label
	chunks  [][]byte // the data of the records
	used    int      // the length of the data in the last chunk
}

// none is the index of no record.
const none = -1

// A record is one stored checkpoint.
type record struct {
	data         position // the id, the encoded changes and the encoded snapshot, one after the other
	idSize       int32
	changesSize  int
	snapshotSize int
	control      position // as [checkpoint.Checkpoint.Control]
	controlSize  int
	time         int64 // Unix time in nanoseconds
	step         int
	label        int32 // an index of labels
	parent       int32 // the index of the nearest ancestor that was not removed, or none
	previous     int32 // the index of the record before this one in the lineage; none if a lineage starts here
	// removed means that the checkpoint was removed. Lineages of later records still need the record.
	removed bool
}

// A position is a place in the data of a history.
type position struct{ chunk, start int32 }

// A label holds the fields that successive checkpoints of a namespace usually share.
type label struct {
	namespace string
	source    checkpoint.Source
	run       string
	version   string
	metadata  pairs
}

// Sizes of chunks. The first two chunks have the size firstChunk, the third has twice this size, the fourth three
// times, and so on up to lastChunk. A larger value has a chunk of its own.
const (
	firstChunk = 512
	lastChunk  = 64 << 10
)

// room returns an empty slice at the free part of a chunk, with capacity for size bytes, and its position. The caller
// appends at most size bytes to the slice and adds their number to h.used.
func (h *history) room(size int) ([]byte, position) {
	last := len(h.chunks) - 1
	if last < 0 || len(h.chunks[last])-h.used < size {
		if last < 0 {
			h.chunks = make([][]byte, 0, 4)
		}
		next := min(max(1, len(h.chunks))*firstChunk, lastChunk)
		h.chunks, h.used = append(h.chunks, make([]byte, max(next, size))), 0
		last++
	}
	return h.chunks[last][h.used:h.used], position{int32(last), int32(h.used)}
}

// add appends data to the history.
func (h *history) add(data []byte) position {
	room, p := h.room(len(data))
	h.used += len(append(room, data...))
	return p
}

// read returns the data at a position, from begin to end. The caller must not change it.
func (h *history) read(p position, begin, end int) []byte {
	return h.chunks[p.chunk][int(p.start)+begin : int(p.start)+end]
}

func (h *history) idOf(i int32) []byte {
	r := h.records.at(i)
	return h.read(r.data, 0, int(r.idSize))
}

// changesOf returns the encoded changes of a record; empty for nil.
func (h *history) changesOf(i int32) []byte {
	r := h.records.at(i)
	return h.read(r.data, int(r.idSize), int(r.idSize)+r.changesSize)
}

// snapshotOf returns the encoded snapshot of a record; empty for nil.
func (h *history) snapshotOf(i int32) []byte {
	r := h.records.at(i)
	return h.read(r.data, int(r.idSize)+r.changesSize, int(r.idSize)+r.changesSize+r.snapshotSize)
}

func (h *history) controlOf(i int32) []byte {
	r := h.records.at(i)
	return h.read(r.control, 0, r.controlSize)
}

// id returns the id of a record, or the empty string if i is none.
func (h *history) id(i int32) string {
	if i == none {
		return ""
	}
	return string(h.idOf(i))
}

func (h *history) labelOf(i int32) *label { return &h.labels[h.records.at(i).label] }

// newLabel returns the index of the label of a new checkpoint. The argument newest is the newest
// record of the namespace, or none. Its label is used again if the fields are equal.
func (h *history) newLabel(c *checkpoint.Checkpoint, newest int32) int32 {
	made := label{namespace: c.Namespace, source: c.Source, run: c.Run, version: c.Version}
	if newest != none && h.labelOf(newest).metadata.equal(c.Metadata) {
		l := h.labelOf(newest)
		if l.source == c.Source && l.run == c.Run && l.version == c.Version {
			return h.records.at(newest).label
		}
		made.namespace, made.metadata = l.namespace, l.metadata
	} else {
		made.metadata = newPairs(c.Metadata)
	}
	if h.labels == nil {
		h.labels = make([]label, 0, 2) // one for the input of a run, and one for its supersteps
	}
	h.labels = append(h.labels, made)
	return int32(len(h.labels) - 1)
}

// setControl sets the Control of a new record. The argument newest is the newest record of the
// namespace, or none. If newest or its parent has an equal Control, setControl adds no data.
func (h *history) setControl(r *record, control []byte, newest int32) {
	r.controlSize = len(control)
	for range 2 {
		if newest == none {
			break
		}
		if bytes.Equal(h.controlOf(newest), control) {
			r.control = h.records.at(newest).control
			return
		}
		newest = h.records.at(newest).parent
	}
	r.control = h.add(control)
}

// setData sets the id, the changes and the snapshot of a new record.
func (h *history) setData(r *record, id string, changes, snapshot []checkpoint.Change) {
	room, p := h.room(len(id) + estimate(changes) + estimate(snapshot))
	b := append(room, id...)
	r.idSize = int32(len(id))
	if changes != nil {
		b = checkpoint.AppendChanges(b, changes)
	}
	r.changesSize = len(b) - len(id)
	if snapshot != nil {
		b = checkpoint.AppendChanges(b, snapshot)
	}
	r.snapshotSize = len(b) - len(id) - r.changesSize
	if cap(b) != cap(room) { // the data did not fit, so b is elsewhere
		r.data = h.add(b)
		return
	}
	r.data = p
	h.used += len(b)
}

// estimate returns the approximate size of the encoded changes in bytes. It is rarely less than the real size.
func estimate(changes []checkpoint.Change) int {
	if changes == nil {
		return 0
	}
	size := 16
	for i := range changes {
		size += len(changes[i].Channel) + len(changes[i].Data) + 24
	}
	return size
}

// decode returns encoded changes. They share no memory with the store.
func decode(encoded []byte) ([]checkpoint.Change, error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	changes, err := checkpoint.ParseChanges(bytes.Clone(encoded))
	if err != nil {
		return nil, fmt.Errorf("memcheckpoint: stored changes: %w", err)
	}
	return changes, nil
}

// lineage returns the lineage of a record, oldest first.
func (h *history) lineage(i int32) ([]checkpoint.Delta, error) {
	n := 0
	for at := i; at != none; at = h.records.at(at).previous {
		n++
	}
	deltas := make([]checkpoint.Delta, n)
	for at := i; at != none; at = h.records.at(at).previous {
		n--
		encoded, snapshot := h.snapshotOf(at), true
		if len(encoded) == 0 {
			encoded, snapshot = h.changesOf(at), false
		}
		changes, err := decode(encoded)
		if err != nil {
			return nil, err
		}
		deltas[n] = checkpoint.Delta{ID: h.id(at), Source: h.labelOf(at).source, Snapshot: snapshot, Changes: changes}
	}
	return deltas, nil
}

// checkpoint returns the checkpoint of a record with the fields that List yields, but
// without its pending writes.
func (h *history) checkpoint(thread string, i int32) checkpoint.Checkpoint {
	r, l := h.records.at(i), h.labelOf(i)
	return checkpoint.Checkpoint{
		Key:      checkpoint.Key{Thread: thread, Namespace: l.namespace, ID: h.id(i)},
		Parent:   h.id(r.parent),
		Step:     r.step,
		Source:   l.source,
		Run:      l.run,
		Version:  l.version,
		Metadata: l.metadata.toMap(),
		Control:  append([]byte(nil), h.controlOf(i)...),
		Time:     time.Unix(0, r.time),
	}
}

// matches reports whether a record is a checkpoint that the query selects.
func (h *history) matches(q *checkpoint.Query, i int32) bool {
	r, l := h.records.at(i), h.labelOf(i)
	switch {
	case r.removed,
		!q.AllNamespaces && l.namespace != q.Namespace,
		q.Source != "" && l.source != q.Source,
		q.Run != "" && l.run != q.Run,
		q.Step != nil && r.step != *q.Step:
		return false
	}
	for key, want := range q.Metadata {
		if got, ok := l.metadata.get(key); !ok || got != want {
			return false
		}
	}
	return true
}
