package memruns

// Pack compresses the recent events of a thread.
func (s *Store) Pack(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.thread(thread).log.pack()
}
