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
	marks  [4]memoryMark
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
	space *memorySpace
	run   [16]byte     // the UUID of the run; unless it is text
	more  *memoryLabel // nil for most
}

// A memoryLabel is what a run that has any says of itself.
type memoryLabel struct {
	run      string // when it is no UUID
	text     bool   // it is not
	version  string
	metadata map[string]string
}

// A memorySpace is a namespace of a thread. Its name never changes; the rest
// belongs to the log.
type memorySpace struct {
	name   string
	head   int    // index of the newest record
	shared uint64 // what it shares
}

// A memoryBase is the lineage through removed ancestors which comes before a
// record's own delta, as a frame. Whole says that it begins with a snapshot.
type memoryBase struct {
	frame []byte
	whole bool
}

const (
	memoryMinChunk = 576
	memoryMaxChunk = 32 << 10
	memoryShort    = 256 // a record of so many bytes is put together without an allocation
	memoryFewest   = 16  // there is room for so many records at first
	memoryFewRefs  = 32  // so many are searched without a table
	memoryFewNames = 8   // and so many names without a map
	memoryMarks    = 16  // the values of Control that are kept once
	memoryMarkSize = 512
)

func newMemoryLog() *memoryLog {
	l := &memoryLog{}
	l.init()
	return l
}

// init readies a log, which is not to be copied.
func (l *memoryLog) init() {
	l.own.head = -1
	l.chunks, l.shared = l.first.chunks[:0], l.first.shared[:0]
	l.texts, l.marks = l.first.texts[:0], l.first.marks[:0]
}

// empty lets go of what the log holds. It is of no use any more, but its views
// are, and look at the names of its spaces.
func (l *memoryLog) empty() {
	l.memoryView, l.first = memoryView{}, memoryFirst{}
	l.table, l.spaces, l.names, l.writes = nil, nil, nil, nil
}

// view returns what can be read without a lock, and when the log is emptied: so it
// has slices of its own of what is in the log itself.
func (l *memoryLog) view() memoryView {
	v := l.memoryView
	if cap(v.chunks) == len(l.first.chunks) {
		v.chunks = slices.Clone(v.chunks)
	}
	if cap(v.shared) == len(l.first.shared) {
		v.shared = slices.Clone(v.shared)
	}
	if cap(v.texts) == len(l.first.texts) {
		v.texts = slices.Clone(v.texts)
	}
	if cap(v.marks) == len(l.first.marks) {
		v.marks = slices.Clone(v.marks)
	}
	return v
}

func (l *memoryLog) len() int { return len(l.refs) }

// put adds a checkpoint, or says why it can not.
func (l *memoryLog) put(c *Checkpoint, head string, now int64, memo *memoryMemo) error {
	s, id := l.space(c.Namespace), newMemoryID(c.ID)
	if i := l.lookup(&id); i >= 0 && s != nil && i == s.head && l.parentID(i) == c.Parent {
		return nil // it is there
	} else if i >= 0 || !l.newest(s, head, memo) {
		return conflict(c, head, l.headID(s))
	}
	parent := -1
	switch {
	case c.Parent == "":
	case c.Parent == head:
		parent = s.head
	default:
		if parent = l.find(c.Namespace, c.Parent); parent < 0 {
			return noParent(c)
		}
	}
	l.add(c, &memoryPlace{parent: parent, id: id, at: l.elapsed(now), memo: memo})
	if c.Settles && parent >= 0 {
		delete(l.writes, parent)
	}
	return nil
}

// newest reports whether an id is that of the newest record of a namespace, or
// empty when it has none.
func (l *memoryLog) newest(s *memorySpace, id string, memo *memoryMemo) bool {
	if s == nil || id == "" {
		return s == nil && id == ""
	}
	if memo.isRecord(s.head, id) {
		return true
	}
	wanted := packMemoryID(id)
	return l.hasID(s.head, &wanted)
}

func (l *memoryLog) headID(s *memorySpace) string {
	if s == nil {
		return ""
	}
	h := l.header(s.head)
	return h.idText()
}

// A memoryPlace is where a checkpoint goes.
type memoryPlace struct {
	parent int
	id     memoryID
	at     int64
	base   memoryBase
	memo   *memoryMemo
}

// add appends a record that was found to be right.
func (l *memoryLog) add(c *Checkpoint, p *memoryPlace) {
	i := len(l.refs)
	s := l.enter(c.Namespace)
	l.share(s, c, p.memo)
	ref := l.store(c, s, i, p)
	if i == cap(l.refs) {
		l.refs = slices.Grow(l.refs, max(memoryFewest, i/4))
	}
	l.refs = append(l.refs, ref)
	l.enlist(i, p.id.hash)
	if len(p.base.frame) > 0 {
		if l.bases == nil {
			l.bases = map[int]memoryBase{}
		}
		l.bases[i] = p.base
	}
	s.head = i
	p.memo.note(c, i, s.shared)
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
