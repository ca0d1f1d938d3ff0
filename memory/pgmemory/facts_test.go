package pgmemory_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/memorytest"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	memorytest.RunFacts(t, func(tb testing.TB) memory.Store { return newPlace(tb).open(tb).Facts() })
}

// What is sent as plain text takes another way through everything.
func TestFactsSimpleProtocol(t *testing.T) {
	t.Parallel()
	memorytest.RunFacts(t, func(tb testing.TB) memory.Store {
		p := newPlace(tb)
		return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		})).Facts()
	})
}
