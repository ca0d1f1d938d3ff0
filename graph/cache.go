package graph

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/weft-go/weft/state"
)

// A NodeCache keeps the updates of nodes in memory. It is safe for concurrent
// use, by any number of nodes and graphs.
type NodeCache struct {
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

// NewNodeCache returns a cache that keeps the entries used last. A size below 1
// means 1,000.
func NewNodeCache(size int) *NodeCache {
	if size < 1 {
		size = 1000
	}
	return &NodeCache{entries: map[cacheKey]*list.Element{}, order: list.New(), size: size}
}

// Clear forgets every entry.
func (c *NodeCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.order.Init()
}

// CachePolicy says what [Cache] remembers.
type CachePolicy struct {
	// Cache is where; nil means a cache of the node's own.
	Cache *NodeCache
	// Key says which states have one result. It must name all that the node
	// looks at, the user it acts for included. It is required.
	Key func(state.View) string
	// TTL is how long a result is good for. Zero means for ever.
	TTL time.Duration
}

// Cache returns what a node returned earlier for a state with the same key,
// targets included, without running it. Failures and pauses are not kept. The
// update is the very same each time: an element that [state.KeyedChannel.Put]
// gave an id has that id again, and so replaces the one from before.
func Cache(p CachePolicy, fn NodeFunc) NodeFunc {
	if p.Key == nil || fn == nil {
		return nil
	}
	cache, owner := p.Cache, new(int)
	if cache == nil {
		cache = NewNodeCache(0)
	}
	return func(ctx context.Context, s state.View) (state.Update, error) {
		key := cacheKey{owner, p.Key(s)}
		if update, ok := cache.get(key); ok {
			return update, nil
		}
		update, err := fn(ctx, s)
		if err == nil && !asked(ctx) {
			cache.put(key, update, p.TTL)
		}
		return update, err
	}
}

func (c *NodeCache) get(key cacheKey) (state.Update, bool) {
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

func (c *NodeCache) put(key cacheKey, update state.Update, ttl time.Duration) {
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

func (c *NodeCache) drop(el *list.Element) {
	delete(c.entries, c.order.Remove(el).(*cacheEntry).key)
}
