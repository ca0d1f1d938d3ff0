package checkpoint

import (
	"hash/maphash"

	"github.com/weft-go/weft/internal/uuid"
)

// find returns -1 if there is no such checkpoint. An empty id is the newest.
func (l *memoryLog) find(namespace, id string) int {
	s := l.space(namespace)
	switch {
	case s == nil:
		return -1
	case id == "":
		return s.head
	}
	i := l.findID(id)
	if i >= 0 && l.shared[l.header(i).shared].space != s {
		return -1
	}
	return i
}

// findID finds a checkpoint of any namespace.
func (l *memoryLog) findID(id string) int {
	wanted := newMemoryID(id)
	return l.lookup(&wanted)
}

// lookup returns -1 if there is none.
func (l *memoryLog) lookup(id *memoryID) int {
	if l.table == nil {
		for i := len(l.refs) - 1; i >= 0; i-- {
			if l.refs[i].hash == id.hash && l.hasID(i, id) {
				return i
			}
		}
		return -1
	}
	mask := uint32(len(l.table) - 1)
	for slot := id.hash & mask; l.table[slot] != 0; slot = (slot + 1) & mask {
		if i := int(l.table[slot] - 1); l.refs[i].hash == id.hash && l.hasID(i, id) {
			return i
		}
	}
	return -1
}

// enlist makes a record findable. The table is kept at most two thirds full.
func (l *memoryLog) enlist(i int, hash uint32) {
	n := i + 1
	if n <= memoryFewRefs {
		return
	}
	if 3*n <= 2*len(l.table) {
		l.insert(i, hash)
		return
	}
	l.table = make([]uint32, max(4*memoryFewRefs, 2*len(l.table)))
	for j := range n {
		l.insert(j, l.refs[j].hash)
	}
}

func (l *memoryLog) insert(i int, hash uint32) {
	mask := uint32(len(l.table) - 1)
	slot := hash & mask
	for l.table[slot] != 0 {
		slot = (slot + 1) & mask
	}
	l.table[slot] = uint32(i + 1)
}

// A memoryID is the id of a checkpoint, looked at once.
type memoryID struct {
	text   string
	uuid   [16]byte
	packed bool // the text is that of the UUID
	hash   uint32
}

func packMemoryID(text string) memoryID {
	id := memoryID{text: text}
	id.uuid, id.packed = uuid.Pack(text)
	return id
}

// newMemoryID also makes the hash.
func newMemoryID(text string) memoryID {
	id := packMemoryID(text)
	if id.packed {
		id.hash = uint32(maphash.Bytes(memorySeed, id.uuid[:]))
	} else {
		id.hash = uint32(maphash.String(memorySeed, text))
	}
	return id
}
