package pgmemory_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
)

func TestConversations(t *testing.T) {
	t.Parallel()
	drivertest.RunConversations(t, func(tb testing.TB) driver.ConversationStore { return newPlace(tb).open(tb).Conversations() })
}

func TestConversationsSimpleProtocol(t *testing.T) {
	t.Parallel()
	drivertest.RunConversations(t, func(tb testing.TB) driver.ConversationStore {
		p := newPlace(tb)
		return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		})).Conversations()
	})
}

func TestConversationsOfServiceRole(t *testing.T) {
	t.Parallel()
	drivertest.RunConversations(t, func(tb testing.TB) driver.ConversationStore { return supabasePlace(tb).served(tb).Conversations() })
}

// The suite passes with the rights of users.
func TestConversationsOfUsers(t *testing.T) {
	t.Parallel()
	drivertest.RunConversations(t, func(tb testing.TB) driver.ConversationStore { return theirConversations{people: newPeople(tb)} })
}
