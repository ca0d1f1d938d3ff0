package pgmemory

import (
	"sync"
	"time"
)

// sizes are what searches have found out that others need not find out again: how large
// large selections are, and which vectors have an index.
type sizes struct {
	mu      sync.Mutex
	large   map[string]size
	indexes map[int64]bool
}

type size struct {
	facts, terms int64
	at           time.Time
}

const (
	// sizeAge is how long a size counts. It tells how rare words are, which changes slowly where there
	// is much.
	sizeAge   = time.Minute
	sizeCount = 1000
)

func newSizes() *sizes { return &sizes{large: map[string]size{}, indexes: map[int64]bool{}} }

// size returns that of a selection that is large.
func (s *sizes) size(key string) (size, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.large[key]
	return n, ok && time.Since(n.at) < sizeAge
}

// note remembers what a plan has found out.
func (s *sizes) note(p *plan, facts, terms int64, large bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.space != 0 && (p.indexed || s.indexes[p.space]) {
		s.indexes[p.space] = p.indexed
	}
	if !p.counts {
		return
	}
	if !large {
		delete(s.large, p.key)
		return
	}
	if len(s.large) >= sizeCount {
		clear(s.large)
	}
	s.large[p.key] = size{facts, terms, time.Now()}
}

func (s *sizes) indexed(space int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.indexes[space]
}

// clear forgets sizes, as something large may be gone.
func (s *sizes) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.large)
}
