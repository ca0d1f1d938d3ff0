package memruns

// Pack compresses the recent events of a thread.
func (s *Store) Pack(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thread(thread).log.close()
}

// Size returns the size of the stored events of a thread.
func (s *Store) Size(thread string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &s.thread(thread).log
	size := 0
	for _, g := range l.segments {
		size += cap(g.data)
	}
	if l.open != nil {
		size += cap(l.open.data)
	}
	return size
}
