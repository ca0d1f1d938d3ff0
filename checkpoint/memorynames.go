package checkpoint

import "maps"

// share makes s.shared hold what the checkpoint shares with others.
func (l *memoryLog) share(s *memorySpace, c *Checkpoint) {
	if s.head >= 0 {
		have := &l.shared[s.shared]
		if have.run == c.Run && have.version == c.Version && sameMetadata(have.metadata, c.Metadata) {
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
