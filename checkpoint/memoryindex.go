package checkpoint

import "hash/maphash"

// find returns -1 if there is no such checkpoint. An empty id is the newest.
func (l *memoryLog) find(namespace, id string) int {
	s := l.space(namespace)
	switch {
	case s == nil:
		return -1
	case id == "" || id == s.headID:
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
	return l.lookup(id, hashID(id))
}

func (l *memoryLog) lookup(id string, hash uint32) int {
	if l.table == nil {
		for i := len(l.refs) - 1; i >= 0; i-- {
			if l.refs[i].hash == hash && l.hasID(i, id) {
				return i
			}
		}
		return -1
	}
	mask := uint32(len(l.table) - 1)
	for slot := hash & mask; l.table[slot] != 0; slot = (slot + 1) & mask {
		if i := int(l.table[slot] - 1); l.refs[i].hash == hash && l.hasID(i, id) {
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

func hashID(id string) uint32 { return uint32(maphash.String(memorySeed, id)) }
