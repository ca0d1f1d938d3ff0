package lru_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/lru"
)

func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	c := lru.New[string, int](2)
	c.Put("a", 1, 0)
	c.Put("b", 2, 0)
	c.Get("a")
	c.Put("c", 3, 0)
	_, ok := c.Get("b")
	assert.False(t, ok)
	a, ok := c.Get("a")
	assert.True(t, ok)
	assert.Equal(t, 1, a)
	c.Clear()
	_, ok = c.Get("a")
	assert.False(t, ok)
}

func TestEntriesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := lru.New[string, int](2)
		c.Put("a", 1, time.Minute)
		c.Put("a", 2, time.Hour)
		time.Sleep(time.Minute)
		a, ok := c.Get("a")
		assert.True(t, ok)
		assert.Equal(t, 2, a)
		time.Sleep(time.Hour)
		_, ok = c.Get("a")
		assert.False(t, ok)
	})
}
