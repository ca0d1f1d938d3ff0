package checkpoint

import "slices"

// A memoryLog holds the checkpoints of one thread, in the order in which they
// were accepted, as compact records in chunks of bytes. A record is never
// changed, and the slices only grow: a view that was taken under the lock of
// the thread can be read without it. Removing checkpoints makes a new log.
type memoryLog struct {
	memoryView
	table   []uint32                // index of a record plus one, by the hash of its id; nil while there are few
	own     memorySpace             // of the thread's own graph; its head is -1 when it has no record
	spaces  map[string]*memorySpace // the others
	last    *memorySpace            // the space of the newest record
	names   map[string]uint64
	writes  map[int]*memoryWrites
	first   memoryFirst
	start   int   // of the newest record in the last chunk
	told    int   // where in it a value of Control is told; 0: nowhere
	fill    int   // bytes used of the last chunk
	size    int   // bytes used of all chunks
	updated int64 // nanoseconds since created
}

// memoryFirst is where the slices of a log begin: most threads are short, and
// there may be many, each of whose parts the collector would have to find.
type memoryFirst struct {
	chunks [2][]byte
	shared [1]memoryShared
	texts  [4]string
	marks  [3]memoryMark
}

// A memoryView is the part of a log that may be read without a lock.
type memoryView struct {
	created int64 // nanoseconds since 1970
	chunks  [][]byte
	refs    []memoryRef
	shared  []memoryShared
	texts   []string     // names of channels
	marks   []memoryMark // values of Control that were met before
	bases   map[int]memoryBase
}

// A memoryRef says where a record is.
type memoryRef struct {
	hash   uint32 // of the id
	chunk  uint32
	offset uint32
}

// A memoryMark says where a value of Control is told for the first time.
type memoryMark struct{ chunk, offset, size uint32 }

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
	l := &memoryLog{own: memorySpace{head: -1}}
	l.chunks, l.shared = l.first.chunks[:0], l.first.shared[:0]
	l.texts, l.marks = l.first.texts[:0], l.first.marks[:0]
	return l
}

func (l *memoryLog) view() memoryView { return l.memoryView }

func (l *memoryLog) len() int { return len(l.refs) }

// put adds a checkpoint, or says why it can not.
func (l *memoryLog) put(c *Checkpoint, head string, now int64) error {
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
	l.add(c, memoryPlace{parent: parent, hash: hash, at: l.elapsed(now)})
	if c.Settles && parent >= 0 {
		delete(l.writes, parent)
	}
	return nil
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

// space returns nil if the namespace has no checkpoint.
func (l *memoryLog) space(name string) *memorySpace {
	switch {
	case l.last != nil && l.last.name == name:
		return l.last
	case name != "":
		return l.spaces[name]
	case l.own.head < 0:
		return nil
	}
	return &l.own
}

func (l *memoryLog) enter(name string) *memorySpace {
	if s := l.space(name); s != nil {
		return s
	}
	if name == "" {
		return &l.own
	}
	s := &memorySpace{name: name, head: -1}
	if l.spaces == nil {
		l.spaces = map[string]*memorySpace{}
	}
	l.spaces[name] = s
	return s
}
