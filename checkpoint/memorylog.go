package checkpoint

import (
	"hash/maphash"
	"maps"
	"slices"
	"time"
)

// A memoryLog holds the checkpoints of one thread, in the order in which they
// were accepted, as compact records in chunks of bytes. A record is never
// changed, and the slices only grow: a view that was taken under the lock of
// the thread can be read without it. Removing checkpoints makes a new log.
type memoryLog struct {
	memoryView
	table   []uint32 // index of a record plus one, by the hash of its id; nil while there are few
	spaces  map[string]*memorySpace
	last    *memorySpace // the space of the newest record
	names   map[string]uint64
	writes  map[int]*memoryWrites
	start   int   // of the newest record in the last chunk
	fill    int   // bytes used of the last chunk
	size    int   // bytes used of all chunks
	updated int64 // nanoseconds since created
	clock   memoryClock
}

// A memoryView is the part of a log that may be read without a lock.
type memoryView struct {
	created time.Time
	chunks  [][]byte
	refs    []memoryRef
	shared  []memoryShared
	texts   []string // names of channels
	marks   [][]byte // values of Control that were met before
	bases   map[int]memoryBase
}

// A memoryRef says where a record is.
type memoryRef struct {
	hash   uint32 // of the id
	chunk  uint32
	offset uint32
}

// memoryShared is what records rarely differ in.
type memoryShared struct {
	space    *memorySpace
	run      string
	version  string
	metadata map[string]string
}

// A memorySpace is a namespace of a thread. Its name never changes; the rest
// belongs to the log.
type memorySpace struct {
	name   string
	head   int    // index of the newest record
	headID string // its id
	shared uint64 // what it shares
}

// A memoryBase is the lineage through removed ancestors which comes before a
// record's own delta, as a frame. Whole says that it begins with a snapshot.
type memoryBase struct {
	frame []byte
	whole bool
}

const (
	memoryMinChunk = 640
	memoryMaxChunk = 32 << 10
	memoryShort    = 256 // a record of so many bytes is put together without an allocation
	memoryFewRefs  = 32  // so many are searched without a table
	memoryFewNames = 8   // and so many names without a map
	memoryMarks    = 16  // the values of Control that are kept once
	memoryMarkSize = 512
)

func newMemoryLog() *memoryLog {
	return &memoryLog{}
}

func (l *memoryLog) view() memoryView { return l.memoryView }

func (l *memoryLog) len() int { return len(l.refs) }

// put adds a checkpoint, or says why it can not.
func (l *memoryLog) put(c *Checkpoint, head string) error {
	s := l.space(c.Namespace)
	newest := ""
	if s != nil {
		newest = s.headID
	}
	if newest != head || newest == c.ID {
		if newest == c.ID && l.parentID(s.head) == c.Parent {
			return nil
		}
		return conflict(c, head, newest)
	}
	hash := hashID(c.ID)
	if len(l.refs) > 0 && l.lookup(c.ID, hash) >= 0 {
		return conflict(c, head, newest)
	}
	parent := -1
	switch {
	case c.Parent == "":
	case c.Parent == newest:
		parent = s.head
	default:
		if parent = l.find(c.Namespace, c.Parent); parent < 0 {
			return noParent(c)
		}
	}
	l.add(c, memoryPlace{parent: parent, hash: hash, at: l.elapsed()})
	if c.Settles && parent >= 0 {
		delete(l.writes, parent)
	}
	return nil
}

// A memoryClock tells how long ago a log began. Steps that follow each other
// quickly take their time from the monotonic clock alone, which costs half; the
// whole clock is read again soon, as it also knows of a suspended machine.
type memoryClock struct {
	read time.Time
	at   int64 // of read
}

const clockFresh = 100 * time.Millisecond

// elapsed is the time since the first record, which never goes backwards.
func (l *memoryLog) elapsed() int64 {
	at := l.clock.at
	if since := time.Since(l.clock.read); since >= 0 && since < clockFresh {
		at += int64(since)
	} else {
		now := time.Now()
		if len(l.refs) == 0 {
			l.created = now.Round(0)
		}
		at = int64(now.Round(0).Sub(l.created))
		l.clock = memoryClock{read: now, at: at}
	}
	return max(at, l.updated)
}

// A memoryPlace is where a checkpoint goes.
type memoryPlace struct {
	parent int
	hash   uint32
	at     int64
	base   memoryBase
}

// add appends a record that was found to be right.
func (l *memoryLog) add(c *Checkpoint, p memoryPlace) {
	i := len(l.refs)
	s := l.enter(c.Namespace)
	l.share(s, c)
	ref := l.store(c, s, i, p)
	if i == cap(l.refs) {
		l.refs = slices.Grow(l.refs, max(16, i/4))
	}
	l.refs = append(l.refs, ref)
	l.enlist(i, p.hash)
	if len(p.base.frame) > 0 {
		if l.bases == nil {
			l.bases = map[int]memoryBase{}
		}
		l.bases[i] = p.base
	}
	s.head, s.headID = i, c.ID
	l.last, l.updated = s, p.at
}

// store writes a record to the end of a chunk.
func (l *memoryLog) store(c *Checkpoint, s *memorySpace, i int, p memoryPlace) memoryRef {
	if n := recordBound(c); n > memoryShort {
		l.keep(l.appendRecord(make([]byte, 0, n), c, s, i, p))
	} else {
		var short [memoryShort]byte // on the stack
		l.copy(l.appendRecord(short[:0], c, s, i, p))
	}
	return memoryRef{hash: p.hash, chunk: uint32(len(l.chunks) - 1), offset: uint32(l.start)}
}

// keep makes a long record a chunk of its own.
func (l *memoryLog) keep(record []byte) {
	if len(record) < memoryMaxChunk/4 {
		l.copy(record)
		return
	}
	l.chunks = append(l.chunks, record)
	l.start, l.fill = 0, len(record)
	l.size += len(record)
}

// copy adds a record to the last chunk. Chunks grow with the log, so that
// neither short nor long threads waste much.
func (l *memoryLog) copy(record []byte) {
	if k := len(l.chunks) - 1; k < 0 || len(l.chunks[k])-l.fill < len(record) {
		size := min(max(l.size/8, len(record), memoryMinChunk), memoryMaxChunk)
		l.chunks = append(l.chunks, make([]byte, size))
		l.fill = 0
	}
	l.start = l.fill
	copy(l.chunks[len(l.chunks)-1][l.start:], record)
	l.fill += len(record)
	l.size += len(record)
}

// space returns nil if the namespace has no checkpoint.
func (l *memoryLog) space(name string) *memorySpace {
	if l.last != nil && l.last.name == name {
		return l.last
	}
	return l.spaces[name]
}

func (l *memoryLog) enter(name string) *memorySpace {
	if s := l.space(name); s != nil {
		return s
	}
	s := &memorySpace{name: name, head: -1}
	if l.spaces == nil {
		l.spaces = map[string]*memorySpace{}
	}
	l.spaces[name] = s
	return s
}

// share makes s.shared hold what the checkpoint shares with others.
func (l *memoryLog) share(s *memorySpace, c *Checkpoint) {
	if s.head >= 0 {
		have := &l.shared[s.shared]
		if have.run == c.Run && have.version == c.Version && maps.Equal(have.metadata, c.Metadata) {
			return
		}
	}
	s.shared = uint64(len(l.shared))
	l.shared = append(l.shared, memoryShared{space: s, run: c.Run, version: c.Version, metadata: cloneMetadata(c.Metadata)})
}

// text returns the number of a channel's name.
func (l *memoryLog) text(name string) uint64 {
	if l.names == nil {
		for i, t := range l.texts {
			if t == name {
				return uint64(i)
			}
		}
	} else if n, ok := l.names[name]; ok {
		return n
	}
	n := uint64(len(l.texts))
	l.texts = append(l.texts, name)
	switch {
	case l.names != nil:
		l.names[name] = n
	case len(l.texts) > memoryFewNames:
		l.names = make(map[string]uint64, 2*len(l.texts))
		for i, t := range l.texts {
			l.names[t] = uint64(i)
		}
	}
	return n
}

// mark returns the number of a value of Control that is kept once.
func (l *memoryLog) mark(control []byte) (int, bool) {
	if len(control) > memoryMarkSize {
		return 0, false
	}
	for i, m := range l.marks {
		if string(m) == string(control) {
			return i, true
		}
	}
	if len(l.marks) == memoryMarks {
		return 0, false
	}
	l.marks = append(l.marks, slices.Clone(control))
	return len(l.marks) - 1, true
}

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

// cloneMetadata returns nil for what is empty.
func cloneMetadata(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}
