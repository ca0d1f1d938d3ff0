package checkpoint

import (
	"encoding/binary"
	"maps"
	"math"

	"github.com/weft-go/weft/internal/uuid"
)

// share makes s.shared hold what the checkpoint shares with others.
func (l *memoryLog) share(s *memorySpace, c *Checkpoint, memo *memoryMemo) {
	known := s.head >= 0 && l.shared[s.shared].labels(c)
	if known && memo.isRun(s.shared, c.Run) {
		return
	}
	run := packMemoryID(c.Run)
	if known && l.shared[s.shared].ofRun(&run) {
		return
	}
	s.shared = uint64(len(l.shared))
	shared := memoryShared{space: s, run: run.uuid}
	if !run.packed || c.Version != "" || len(c.Metadata) > 0 {
		shared.more = &memoryLabel{version: c.Version, metadata: cloneMetadata(c.Metadata)}
		if !run.packed {
			shared.more.run, shared.more.text = c.Run, true
		}
	}
	l.shared = append(l.shared, shared)
}

var noMemoryLabel memoryLabel // is only read

func (s *memoryShared) label() *memoryLabel {
	if s.more != nil {
		return s.more
	}
	return &noMemoryLabel
}

// labels reports whether it has the checkpoint's version and metadata.
func (s *memoryShared) labels(c *Checkpoint) bool {
	label := s.label()
	return label.version == c.Version && sameMetadata(label.metadata, c.Metadata)
}

func (s *memoryShared) ofRun(run *memoryID) bool {
	if label := s.label(); label.text {
		return label.run == run.text
	}
	return run.packed && s.run == run.uuid
}

func (s *memoryShared) runID() string {
	if label := s.label(); label.text {
		return label.run
	}
	return uuid.Unpack(s.run)
}

// counted returns how far an id counts on from that of its run, if it does.
func (s *memoryShared) counted(id *memoryID) (n uint64, ok bool) {
	if s.label().text || !id.packed || [8]byte(s.run[:8]) != [8]byte(id.uuid[:8]) {
		return 0, false
	}
	n = binary.BigEndian.Uint64(id.uuid[8:]) - binary.BigEndian.Uint64(s.run[8:])
	return n, n <= math.MaxUint32
}

// count is the opposite of counted.
func (s *memoryShared) count(n uint64) (id [16]byte) {
	id = s.run
	binary.BigEndian.PutUint64(id[8:], binary.BigEndian.Uint64(id[8:])+n)
	return id
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

// marked returns the number of a value of Control that was met before.
func (l *memoryLog) marked(control []byte) (int, bool) {
	for i := range l.marks {
		if string(l.marks[i].of(&l.memoryView)) == string(control) {
			return i, true
		}
	}
	return 0, false
}

// mark remembers where a value of Control was told.
func (l *memoryLog) mark(offset, size int) {
	if size > memoryMarkSize || len(l.marks) == memoryMarks {
		return
	}
	l.marks = append(l.marks, memoryMark{chunk: uint32(len(l.chunks) - 1), offset: uint32(offset), size: uint32(size)})
}

func (m memoryMark) of(v *memoryView) []byte {
	return v.chunks[m.chunk][m.offset : m.offset+m.size : m.offset+m.size]
}

func sameMetadata(a, b map[string]string) bool {
	return len(a) == 0 && len(b) == 0 || maps.Equal(a, b)
}

// cloneMetadata returns nil for what is empty.
func cloneMetadata(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return maps.Clone(m)
}
