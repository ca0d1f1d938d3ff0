package sqlitememory_test

import (
	"path/filepath"
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func TestConversations(t *testing.T) {
	t.Parallel()
	drivertest.RunConversations(t, func(tb testing.TB) driver.ConversationStore {
		return open(tb, filepath.Join(tb.TempDir(), "memory.db"), options).Conversations()
	})
}

func TestConversationsInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunConversations(t, func(tb testing.TB) driver.ConversationStore {
		return open(tb, sqlitememory.Memory, options).Conversations()
	})
}
