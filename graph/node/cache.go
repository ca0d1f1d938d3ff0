package node

import (
	"context"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/lru"
	"github.com/weft-go/weft/state"
)

// A SharedCache stores updates of nodes in memory. Any number of nodes and graphs may
// use it concurrently.
type SharedCache struct {
	entries *lru.Cache[cacheKey, state.Update]
}

type cacheKey struct {
	owner *int
	key   string
}

// NewSharedCache returns a cache for size entries. When it is full, it evicts the least
// recently used entry. A size below 1 means 1,000.
func NewSharedCache(size int) *SharedCache {
	if size < 1 {
		size = 1000
	}
	return &SharedCache{lru.New[cacheKey, state.Update](size)}
}

// Clear removes every entry.
func (c *SharedCache) Clear() { c.entries.Clear() }

// A CachePolicy configures [Cache]. Its zero value keeps results for ever, in a private
// cache of the node.
type CachePolicy struct {
	// Cache stores the results. Nil means a private cache of the node.
	Cache *SharedCache
	// TTL is the time for which a result is valid. Zero means for ever.
	TTL time.Duration
}

// Cache avoids repeated runs of a node. For a state with the same key, it returns the
// node's earlier update, including its targets. The key must depend on everything that
// the node reads, including the user on whose behalf it runs. Errors and pauses are not
// cached. A cached update is identical each time: if a keyed channel assigned an id to
// an element, the element has the same id again and replaces the earlier one. If fn or
// key is nil, Cache returns nil.
func Cache(key func(state.View) string, p CachePolicy, fn graph.NodeFunc) graph.NodeFunc {
	if key == nil || fn == nil {
		return nil
	}
	cache, owner := p.Cache, new(int)
	if cache == nil {
		cache = NewSharedCache(0)
	}
	return func(ctx context.Context, s state.View) (state.Update, error) {
		k := cacheKey{owner, key(s)}
		if update, ok := cache.entries.Get(k); ok {
			return update, nil
		}
		update, err := fn(ctx, s)
		if err == nil && !engine.AskedIn(ctx) {
			cache.entries.Put(k, update, p.TTL)
		}
		return update, err
	}
}
