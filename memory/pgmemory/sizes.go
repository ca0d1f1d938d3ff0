package pgmemory

import (
	"crypto/sha256"
	"sync"
	"time"
)

// sizes are what searches have found out that others need not find out again: how large
// selections are, and how many vectors an index has.
type sizes struct {
	mu      sync.Mutex
	known   map[sizeKey]size
	indexes map[string]int64
}

// A sizeKey stands for a selection.
type sizeKey [sha256.Size]byte

type size struct {
	rows, terms int64
	among       int64 // of how many rows these were picked one by one; zero where they were not
	at          time.Time
}

const (
	// sizeAge is how long a size counts. It tells how rare words are, which changes slowly where there
	// is much.
	sizeAge   = time.Minute
	sizeCount = 10_000
)

func newSizes() *sizes { return &sizes{known: map[sizeKey]size{}, indexes: map[string]int64{}} }

// size returns that of a selection, if it is known.
func (s *sizes) size(key sizeKey) (size, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.known[key]
	if !ok || time.Since(n.at) >= sizeAge {
		return size{}, false
	}
	return n, true
}

// note remembers what a plan has found out.
func (s *sizes) note(p *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.asks {
		s.indexes[p.index] = p.vectors
	}
	if !p.counts {
		return
	}
	if len(s.known) >= sizeCount {
		clear(s.known)
	}
	s.known[p.key] = size{p.rows, p.terms, p.among, p.since}
}

// vectors returns how many vectors an index has, or zero if none is known.
func (s *sizes) vectors(name string) int64 {
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
