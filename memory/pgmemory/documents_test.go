package pgmemory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/pgmemory"
)

func TestKnowledge(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore { return newPlace(tb).open(tb).Documents() })
}

// The suite also passes with the simple protocol, which sends values as text.
func TestKnowledgeSimpleProtocol(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore {
		p := newPlace(tb)
		return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		})).Documents()
	})
}

// The suite passes with the service role, under row-level security.
func TestKnowledgeOfServiceRole(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore { return supabasePlace(tb).served(tb).Documents() })
}

// The suite passes with the rights of a user if the policies of the project permit it. In this
// test, a policy permits the tenants in the user's claims.
func TestKnowledgeOfUser(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore {
		p := supabasePlace(tb)
		const (
			member  = `tenant = ANY (ARRAY(SELECT jsonb_array_elements_text((SELECT auth.jwt()) -> 'app_metadata' -> 'tenants')))`
			visible = `shelf = ANY (ARRAY(SELECT s.key FROM weft.mem_shelf s))`
		)
		do(tb, p, `CREATE POLICY member ON weft.mem_shelf TO authenticated USING (`+member+`) WITH CHECK (`+member+`)`)
		for _, table := range []string{"mem_source", "mem_chunk"} {
			do(tb, p, `CREATE POLICY member ON weft.`+table+` TO authenticated USING (`+visible+`) WITH CHECK (`+visible+`)`)
		}
		bound, err := pgmemory.Bind(p.served(tb), func(_ context.Context, b *pgx.Batch) error {
			claims := fmt.Sprintf(`{"sub":%q,"role":"authenticated","app_metadata":{"tenants":["","acme","other","t"]}}`, annID)
			b.Queue(`SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1::text, true)`, claims)
			return nil
		})
		require.NoError(tb, err)
		return bound.Documents()
	})
}
