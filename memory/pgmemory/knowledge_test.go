package pgmemory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/pgmemory"
)

func TestKnowledge(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore { return newPlace(tb).open(tb).Documents() })
}

// What is sent as plain text takes another way through everything.
func TestKnowledgeSimpleProtocol(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore {
		p := newPlace(tb)
		return p.migrated(tb, p.pool(tb, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
		})).Documents()
	})
}

// The service role does everything, behind the policies.
func TestKnowledgeOfServiceRole(t *testing.T) {
	t.Parallel()
	drivertest.RunDocuments(t, func(tb testing.TB) driver.DocumentStore { return supabasePlace(tb).served(tb).Documents() })
}

// A user does everything where policies of the project allow it: here, one that has what tenants a user is of in
// the user's claims.
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
		if err != nil {
			tb.Fatal(err)
		}
		return bound.Documents()
	})
}
