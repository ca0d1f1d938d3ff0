package pgmemory_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	drivertest.RunFacts(t, func(tb testing.TB) driver.FactStore { return newPlace(tb).open(tb).Facts() })
}

// The suite also passes with the simple protocol, which sends values as text.
func TestFactsSimpleProtocol(t *testing.T) {
	t.Parallel()
	drivertest.RunFacts(t, func(tb testing.TB) driver.FactStore {
		p := newPlace(tb)
		return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		})).Facts()
	})
}
