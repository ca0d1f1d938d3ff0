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

// A SharedCache stores updates of nodes in memory. Any number of nodes and graphs may
// use it concurrently.
type SharedCache struct {
	mu      sync.Mutex
	entries map[cacheKey]*list.Element
	order   *list.List // the most recently used entry is first
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

// NewSharedCache returns a cache for size entries. When it is full, it evicts the least
// recently used entry. A size below 1 means 1,000.
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
