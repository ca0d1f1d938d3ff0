package uuid_test

import (
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/internal/uuid"
)

var form = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestNew(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10_000 {
				id := uuid.New()
				mu.Lock()
				if seen[id] || !form.MatchString(id) {
					t.Errorf("bad or repeated id %s", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestOrder(t *testing.T) {
	t.Parallel()
	first := uuid.New()
	for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
	}
	if second := uuid.New(); second <= first {
		t.Errorf("%s does not sort behind %s", second, first)
	}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	var s uuid.Series
	last := s.Next()
	for range 1000 {
		next := s.Next()
		if next <= last || !form.MatchString(next) {
			t.Fatalf("got %s behind %s", next, last)
		}
		last = next
	}
	for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
	}
	var later uuid.Series
	if first := later.Next(); first <= last {
		t.Errorf("%s of a later series does not sort behind %s", first, last)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		uuid.New()
	}
}

func BenchmarkSeries(b *testing.B) {
	var s uuid.Series
	for b.Loop() {
		s.Next()
	}
}
