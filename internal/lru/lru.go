// Package lru has a bounded cache that evicts the least recently used entry.
package lru

import (
	"container/list"
	"sync"
	"time"
)

// A Cache maps keys to values. Any number of goroutines may use it.
type Cache[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]*list.Element
	order   *list.List // the most recently used entry is first
	size    int
}

type entry[K comparable, V any] struct {
	key     K
	value   V
	expires time.Time // zero for never
}

// New returns a cache for size entries.
func New[K comparable, V any](size int) *Cache[K, V] {
	return &Cache[K, V]{entries: map[K]*list.Element{}, order: list.New(), size: size}
}

// Clear removes every entry.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.order.Init()
}

// Get returns the value of a key. It reports false for an absent or expired entry.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el := c.entries[key]
	if el == nil {
		return value, false
	}
	e := el.Value.(*entry[K, V])
	if !e.expires.IsZero() && !time.Now().Before(e.expires) {
		c.drop(el)
		return value, false
	}
	c.order.MoveToFront(el)
	return e.value, true
}

// Put stores a value for the time ttl, or without a limit if ttl is not positive.
func (c *Cache[K, V]) Put(key K, value V, ttl time.Duration) {
	e := &entry[K, V]{key: key, value: value}
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

func (c *Cache[K, V]) drop(el *list.Element) {
	delete(c.entries, c.order.Remove(el).(*entry[K, V]).key)
}
