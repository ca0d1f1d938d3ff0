package uuid_test

import (
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
)

// version7 matches the text of a version 7 UUID.
var version7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestNewReturnsUniqueVersion7(t *testing.T) {
	t.Parallel()
	const goroutines, each = 8, 10_000
	ids := make([][]string, goroutines)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			for range each {
				ids[i] = append(ids[i], uuid.New())
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, some := range ids {
		for _, id := range some {
			require.Regexp(t, version7, id)
			seen[id] = true
		}
	}
	assert.Len(t, seen, goroutines*each, "distinct ids")
}

func TestNewAscendsWithTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		last := uuid.New()
		for range 1000 {
			time.Sleep(time.Microsecond)
			next := uuid.New()
			require.Greater(t, next, last)
			last = next
		}
	})
}

func TestNewContainsTheTimeInMilliseconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.UnixMilli(0x0190_b5e4_7c1a)))
		assert.Regexp(t, `^0190b5e4-7c1a-7000-`, uuid.New())
	})
}

func TestSeriesAscends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s uuid.Series
		last := s.Next()
		for range 1000 {
			next := s.Next()
			require.Greater(t, next, last)
			require.Regexp(t, version7, next)
			last = next
		}
		time.Sleep(time.Millisecond)
		var later uuid.Series
		assert.Greater(t, later.Next(), last, "the first id of a later series")
	})
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
