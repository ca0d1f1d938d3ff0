package checkpoint

import "slices"

// fill adds what Get returns beyond List.
func (v *memoryView) fill(c *Checkpoint, i int) {
	v.fillValues(c, i)
	last := Delta{ID: c.ID, Source: c.Source, Snapshot: c.Snapshot != nil, Changes: c.Changes}
	if last.Snapshot {
		last.Changes = c.Snapshot
	}
	c.Lineage = append(v.before(i), last)
}

func (v *memoryView) fillValues(c *Checkpoint, i int) {
	own := v.values(i)
	var n valueCount
	n.add(own.changes)
	n.add(own.snapshot)
	b := n.buffer()
	c.Changes = b.changes(v, own.changes)
	if own.whole {
		c.Snapshot = b.changes(v, own.snapshot)
	}
}

// part returns what a record that goes leaves to the bases of others: its own
// base, unless it has a snapshot, and its delta.
func (v *memoryView) part(i int) []Delta {
	var deltas []Delta
	own := v.values(i)
	if base, ok := v.bases[i]; ok && !own.whole {
		deltas = base.deltas()
	}
	var n valueCount
	n.add(own.lineage())
	return append(deltas, v.delta(i, n.buffer()))
}

// before returns the lineage of a record without its own delta, and with room
// for that. The deltas are cut from few allocations: a long thread has
// thousands.
func (v *memoryView) before(i int) []Delta {
	var path []int // newest first; -n is the n-th of bases
	var bases [][]Delta
	var n valueCount
	size := 1
	own := v.values(i)
	for whole := own.whole; !whole; {
		base, ok := v.bases[i]
		if ok {
			deltas := base.deltas()
			bases = append(bases, deltas)
			path = append(path, -len(bases))
			size += len(deltas)
		}
		if i = v.header(i).parent; base.whole || i < 0 {
			break
		}
		own = v.values(i)
		n.add(own.lineage())
		path = append(path, i)
		size++
		whole = own.whole
	}
	b := n.buffer()
	deltas := make([]Delta, 0, size)
	for _, at := range slices.Backward(path) {
		if at < 0 {
			deltas = append(deltas, bases[-at-1]...)
			continue
		}
		deltas = append(deltas, v.delta(at, b))
	}
	return deltas
}

func (v *memoryView) delta(i int, b *valueBuffer) Delta {
	h, own := v.header(i), v.values(i)
	return Delta{ID: h.idText(), Source: h.source, Snapshot: own.whole, Changes: b.changes(v, own.lineage())}
}

// deltas returns a copy.
func (m memoryBase) deltas() []Delta {
	deltas, err := ParseDeltas(slices.Clone(m.frame))
	if err != nil {
		panic("checkpoint: base of a checkpoint in memory: " + err.Error())
	}
	return deltas
}

// memoryValues are the changes of a record, as they are stored.
type memoryValues struct {
	changes  []byte
	snapshot []byte
	whole    bool // there is a snapshot
}

// lineage is what a delta holds.
func (m *memoryValues) lineage() []byte {
	if m.whole {
		return m.snapshot
	}
	return m.changes
}

func (v *memoryView) values(i int) memoryValues {
	h := v.header(i)
	_, b := v.control(h.rest)
	if h.flags&recordSnapshot == 0 {
		return memoryValues{changes: b}
	}
	var skipped valueCount
	return memoryValues{snapshot: b, changes: skipped.add(b), whole: true}
}

// A valueCount says how much room changes need.
type valueCount struct {
	changes int
	bytes   int
}

// add counts the stored changes at the start of b, and returns what follows them.
func (n *valueCount) add(b []byte) []byte {
	if b == nil {
		return nil
	}
	count, b := takeUvarint(b)
	for range max(count, 1) - 1 {
		_, b = takeUvarint(b)
		size, rest := takeUvarint(b[1:])
		size = max(size, 1) - 1
		n.changes++
		n.bytes += int(size)
		b = rest[size:]
	}
	return b
}

func (n *valueCount) buffer() *valueBuffer {
	return &valueBuffer{list: make([]Change, 0, n.changes), data: make([]byte, 0, n.bytes)}
}

// A valueBuffer is what changes are copied to.
type valueBuffer struct {
	list []Change
	data []byte
}

// changes returns a copy of the stored changes at the start of stored. Its parts
// have no room to grow into each other.
func (b *valueBuffer) changes(v *memoryView, stored []byte) []Change {
	count, stored := takeUvarint(stored)
	if count == 0 {
		return nil
	}
	from := len(b.list)
	for range count - 1 {
		var name, size uint64
		name, stored = takeUvarint(stored)
		c := Change{Channel: v.texts[name], Kind: stored[0]}
		size, stored = takeUvarint(stored[1:])
		if size > 0 {
			size--
			at := len(b.data)
			b.data = append(b.data, stored[:size]...)
			c.Data = b.data[at:len(b.data):len(b.data)]
			stored = stored[size:]
		}
		b.list = append(b.list, c)
	}
	return b.list[from:len(b.list):len(b.list)]
}
