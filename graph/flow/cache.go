package flow

import (
	"context"
	"time"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/lru"
)

// A Cache keeps results of tasks in memory, for all threads of the process. It is safe for
// concurrent use.
type Cache[T any] struct {
	entries *lru.Cache[string, T]
	ttl     time.Duration
}

// CacheOptions configures a [Cache].
type CacheOptions struct {
	// Size is the maximum number of results. The least recently used one is evicted. Zero
	// means 1,000.
	Size int
	// TTL is the time for which a result is valid. Zero means for ever.
	TTL time.Duration
}

// NewCache returns an empty cache.
func NewCache[T any](o CacheOptions) *Cache[T] {
	if o.Size < 1 {
		o.Size = 1000
	}
	return &Cache[T]{lru.New[string, T](o.Size), o.TTL}
}

// Wrap returns a task function that returns the cached result for a key, and calls fn if there
// is none. The key must name everything on which the result depends, including the user for
// whom the flow runs. Errors and pauses are not cached. Concurrent calls with one key may
// all call fn.
func (c *Cache[T]) Wrap(key string, fn func(context.Context) (T, error)) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		if v, ok := c.entries.Get(key); ok {
			return v, nil
		}
		v, err := fn(ctx)
		if err == nil && !engine.AskedIn(ctx) {
			c.entries.Put(key, v, c.ttl)
		}
		return v, err
	}
}
