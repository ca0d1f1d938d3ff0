package drivertest_test

import (
	"testing"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/inmemory"
)

func TestConversationsInMemory(t *testing.T) {
	t.Parallel()
	drivertest.RunConversations(t, func(testing.TB) driver.ConversationStore {
		return inmemory.NewConversations(inmemory.Options{})
	})
}
