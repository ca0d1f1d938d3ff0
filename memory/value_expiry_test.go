package memory_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
)

func TestValuesExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := newMemory(t, memory.Options{Values: memory.ValueOptions{TTL: 10 * time.Minute, Sliding: true, Index: [][]string{{}}}})
		values := m.Values()
		n := values.In(lea, "n")
		put(t, n, "read", `"word"`, memory.PutOptions{})
		put(t, n, "unread", `"other"`, memory.PutOptions{})
		put(t, n, "fixed", `"word"`, memory.PutOptions{TTL: 10 * time.Minute})
		put(t, n, "ever", `"word"`, memory.PutOptions{TTL: -1})
		put(t, n, "long", `"word"`, memory.PutOptions{TTL: time.Hour, Sliding: true})
		time.Sleep(6 * time.Minute)
		item, err := n.Get(ctx, "read")
		require.NoError(t, err)
		assert.EqualValues(t, 10*time.Minute, time.Until(item.ExpiresAt).Round(time.Second))
		assert.Equal(t, "ever fixed long read unread", listItems(t, n, memory.ValueQuery{Order: memory.ByKey, Peek: true}))
		time.Sleep(6 * time.Minute)
		found, err := n.Search(ctx, memory.Question{Text: "word"})
		require.NoError(t, err)
		for _, f := range found {
			assert.False(t, f.Item.Key == "read" && time.Until(f.Item.ExpiresAt).Round(time.Second) != 10*time.Minute, "what was found does not live on")
		}
		assert.Len(t, found, 3)
		_, err = n.Get(ctx, "unread")
		assert.ErrorIs(t, err, memory.ErrNotFound)
		time.Sleep(6 * time.Minute)
		assert.Equal(t, "ever long read", listItems(t, n, memory.ValueQuery{Order: memory.ByKey}))
		time.Sleep(6 * time.Minute)
		assert.Equal(t, "ever long read", listItems(t, n, memory.ValueQuery{Order: memory.ByKey, Peek: true}))
		found, err = n.Search(ctx, memory.Question{Text: "word"}, memory.ValueFilter{Peek: true})
		require.Len(t, found, 3)
		assert.NoError(t, err)
		time.Sleep(6 * time.Minute)
		assert.Equal(t, "ever long", listItems(t, n, memory.ValueQuery{Order: memory.ByKey}))
		swept, err := m.Sweep(ctx)
		require.NoError(t, err)
		assert.Equal(t, 3, swept)
		put(t, n, "fixed", `1`, memory.PutOptions{Version: memory.Absent})
		time.Sleep(24 * time.Hour)
		assert.Equal(t, "ever", listItems(t, n, memory.ValueQuery{}))
	})
}

// Reads do not restart the TTL of a value that is not sliding, whether the TTL is its own or the default.
func TestReadsDoNotKeepValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{Values: memory.ValueOptions{TTL: 200 * time.Millisecond, Index: [][]string{{}}}})
		n := m.Values().In(lea, "n")
		put(t, n, "own", `"word"`, memory.PutOptions{TTL: 200 * time.Millisecond})
		put(t, n, "default", `"word"`, memory.PutOptions{})
		for range 3 {
			time.Sleep(60 * time.Millisecond)
			for _, key := range []string{"own", "default"} {
				_, err := n.Get(t.Context(), key)
				require.NoError(t, err)
			}
			assert.Equal(t, "default own", listItems(t, n, memory.ValueQuery{Order: memory.ByKey}))
			found, err := n.Search(t.Context(), memory.Question{Text: "word"})
			require.NoError(t, err)
			assert.Len(t, found, 2)
		}
		time.Sleep(21 * time.Millisecond)
		for _, key := range []string{"own", "default"} {
			_, err := n.Get(t.Context(), key)
			assert.ErrorIs(t, err, memory.ErrNotFound)
		}
	})
}

func TestSweepMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t, memory.Options{Values: memory.ValueOptions{TTL: time.Minute}})
		values := m.Values()
		for i := range 2500 {
			put(t, values.In(lea, fmt.Sprint("n", i%7)), fmt.Sprint(i), `1`, memory.PutOptions{})
		}
		time.Sleep(2 * time.Minute)
		n, err := m.Sweep(t.Context())
		require.Equal(t, 2500, n)
		assert.NoError(t, err)
	})
}
