package pgmemory

import (
	"crypto/sha256"
	"sync"
	"time"
)

// sizes caches counts of earlier searches: the sizes of selections, and the number of vectors in
// indexes.
type sizes struct {
	mu      sync.Mutex
	known   map[sizeKey]size
	indexes map[string]int64
}

// A sizeKey identifies a selection.
type sizeKey [sha256.Size]byte

type size struct {
	rows, terms int64
	among       int64 // the number of rows on which a dear condition was evaluated; zero if the condition is not dear
	at          time.Time
}

const (
	// sizeAge is the time for which a size is used. The rarity of words depends on the size, and
	// changes slowly in large selections.
	sizeAge   = time.Minute
	sizeCount = 10_000
)

func newSizes() *sizes { return &sizes{known: map[sizeKey]size{}, indexes: map[string]int64{}} }

// size returns the size of a selection, and false if it is unknown or too old.
func (s *sizes) size(key sizeKey) (size, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.known[key]
	if !ok || time.Since(n.at) >= sizeAge {
		return size{}, false
	}
	return n, true
}

// note stores the counts that a plan returned.
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

// vectors returns the number of vectors in an index, or 0 if it is unknown.
func (s *sizes) vectors(name string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.indexes[name]
}

// clear removes all sizes. It is called before rows are removed.
func (s *sizes) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
}
