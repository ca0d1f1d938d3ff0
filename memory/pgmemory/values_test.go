package pgmemory_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
)

// valueStores opens a store with each kind of connection and role.
var valueStores = map[string]func(tb testing.TB) driver.ValueStore{
	"owner": func(tb testing.TB) driver.ValueStore { return newPlace(tb).open(tb).Values() },
	"simple protocol": func(tb testing.TB) driver.ValueStore {
		p := newPlace(tb)
		return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		})).Values()
	},
	"service role": func(tb testing.TB) driver.ValueStore { return supabasePlace(tb).served(tb).Values() },
	"users":        func(tb testing.TB) driver.ValueStore { return theirValues{people: newPeople(tb)} },
}

func TestValues(t *testing.T) {
	t.Parallel()
	for name, open := range valueStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.RunValues(t, open)
		})
	}
}
