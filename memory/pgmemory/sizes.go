package pgmemory

import (
	"sync"
	"time"
)

// sizes are what searches have found out that others need not find out again: how large
// selections are, and which vectors have an index.
type sizes struct {
	mu      sync.Mutex
	known   map[string]size
	indexes map[string]bool
}

type size struct {
	rows, terms int64
	large       bool
	at          time.Time
}

const (
	// sizeAge is how long a size counts. It tells how rare words are, which changes slowly where there
	// is much.
	sizeAge   = time.Minute
	sizeCount = 1000
)

func newSizes() *sizes { return &sizes{known: map[string]size{}, indexes: map[string]bool{}} }

// size returns that of a selection, if it is known.
func (s *sizes) size(key string) (size, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.known[key]
	if !ok || time.Since(n.at) >= sizeAge {
		return size{}, false
	}
	return n, true
}

// note remembers what a plan has found out.
func (s *sizes) note(p *plan, rows, terms int64, large bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.index != "" && (p.indexed || s.indexes[p.index]) {
		s.indexes[p.index] = p.indexed
	}
	if !p.counts {
		return
	}
	if len(s.known) >= sizeCount {
		clear(s.known)
	}
	s.known[p.key] = size{rows, terms, large, time.Now()}
}

func (s *sizes) indexed(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.indexes[name]
}

// clear forgets sizes, as something large may be gone.
func (s *sizes) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
}
