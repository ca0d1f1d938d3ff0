package memorytest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/conversation"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestConversationsInMemory(t *testing.T) {
	t.Parallel()
	memorytest.RunConversations(t, func(testing.TB) conversation.Store {
		return conversation.NewInMemory(conversation.InMemoryOptions{})
	})
}
