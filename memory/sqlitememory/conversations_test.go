package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory/conversation"
	"github.com/weft-go/weft/memory/memorytest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func TestConversations(t *testing.T) {
	t.Parallel()
	memorytest.RunConversations(t, func(tb testing.TB) conversation.Store {
		return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Conversations()
	})
}

func TestConversationsInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunConversations(t, func(tb testing.TB) conversation.Store {
		return open(tb, sqlitememory.Memory, options).Conversations()
	})
}
