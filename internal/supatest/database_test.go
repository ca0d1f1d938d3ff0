package supatest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// A query for the policies of one schema must not wait for the tables of another, since other tests
// drop theirs meanwhile.
func TestPoliciesLockNoTableOfAnotherSchema(t *testing.T) {
	t.Parallel()
	url := supatest.Database(t, nil)
	mine, others := pgtest.SchemaIn(t, url), pgtest.SchemaIn(t, url)
	for _, schema := range []string{mine, others} {
		pgtest.Do(t, url, `CREATE TABLE `+schema+`.note (owner text)`)
		pgtest.Do(t, url, `CREATE POLICY own ON `+schema+`.note TO anon USING (owner = 'ann')`)
	}
	tx, err := pgtest.Connect(t, url).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `LOCK TABLE `+others+`.note`)
	require.NoError(t, err)

	conn := pgtest.Connect(t, url)
	_, err = conn.Exec(t.Context(), `SET lock_timeout = '1s'`)
	require.NoError(t, err)
	var table, using string
	var roles []string
	require.NoError(t, conn.QueryRow(t.Context(), supatest.Policies+`SELECT tablename, roles, qual FROM policies WHERE qual ~ 'ann'`, mine).
		Scan(&table, &roles, &using))
	assert.Equal(t, "note", table)
	assert.Equal(t, []string{"anon"}, roles)
	assert.Equal(t, "(owner = 'ann'::text)", using)
	_, err = conn.Exec(t.Context(), `SELECT FROM pg_policies WHERE schemaname = '`+mine+`' AND qual ~ 'ann'`)
	assert.ErrorContains(t, err, "lock timeout", "the view pg_policies waits")
	require.NoError(t, tx.Rollback(t.Context()))
}
