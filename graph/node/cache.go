package node

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// A SharedCache keeps updates of nodes in memory. Any number of nodes and graphs may
// use it at once.
type SharedCache struct {
	mu      sync.Mutex
	entries map[cacheKey]*list.Element
	order   *list.List // newest use first
	size    int
}

type cacheKey struct {
	owner *int
	key   string
}

type cacheEntry struct {
	key     cacheKey
	update  state.Update
	expires time.Time
}

// NewSharedCache returns a cache that keeps the entries that were used last. A size
// below 1 means 1,000.
func NewSharedCache(size int) *SharedCache {
	if size < 1 {
		size = 1000
	}
	return &SharedCache{entries: map[cacheKey]*list.Element{}, order: list.New(), size: size}
}

// Clear removes every entry.
func (c *SharedCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.order.Init()
}

// A CachePolicy configures [Cache]. Its zero value keeps results for ever, in a
// cache of the node's own.
type CachePolicy struct {
	// Cache is where results are kept. Nil means a cache of the node's own.
	Cache *SharedCache
	// TTL is how long a result is valid. Zero means for ever.
	TTL time.Duration
}

// Cache returns the update that a node returned earlier for a state with the same
// key, targets included, without running it. The key must depend on everything that
// the node reads, the user it acts for included. Failures and pauses are not kept.
// A kept update is the same each time: an element that a keyed channel gave an id
// has that id again, and so replaces the earlier one. Around a nil function, or
// without a key function, Cache returns nil.
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
		if update, ok := cache.get(k); ok {
			return update, nil
		}
		update, err := fn(ctx, s)
		if err == nil && !engine.AskedIn(ctx) {
			cache.put(k, update, p.TTL)
		}
		return update, err
	}
}

func (c *SharedCache) get(key cacheKey) (state.Update, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[key]
	if el == nil {
		return nil, false
	}
	e := el.Value.(*cacheEntry)
	if !e.expires.IsZero() && !time.Now().Before(e.expires) {
		c.drop(el)
		return nil, false
	}
	c.order.MoveToFront(el)
	return e.update, true
}

func (c *SharedCache) put(key cacheKey, update state.Update, ttl time.Duration) {
	e := &cacheEntry{key: key, update: update}
	if ttl > 0 {
		e.expires = time.Now().Add(ttl)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil {
		c.drop(old)
	}
	c.entries[key] = c.order.PushFront(e)
	for c.order.Len() > c.size {
		c.drop(c.order.Back())
	}
}

func (c *SharedCache) drop(el *list.Element) {
	delete(c.entries, c.order.Remove(el).(*cacheEntry).key)
}
