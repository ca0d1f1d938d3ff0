package pgmemory_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/memory/pgmemory"
)

var update = flag.Bool("update", false, "write the table of rights in docs/supabase.md again")

// rightsQuery describes the tables, views and functions of a project: the name, the rights of anon, authenticated and
// service_role, and the rows that authenticated reaches. The functions of the schema weft are grouped in one row for
// each set of rights.
const rightsQuery = `WITH relation AS (
	SELECT c.oid, c.relkind, n.nspname = 'public' AS shared, n.nspname, c.relname, coalesce(c.reloptions @> '{security_invoker=true}', false) AS invoker,
		c.relrowsecurity AND c.relforcerowsecurity AS secured
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'v') AND (n.nspname = $1 OR n.nspname = 'public' AND c.relname = ANY ($2))
), reach AS (
	SELECT r.oid, CASE WHEN NOT r.secured THEN 'UNSECURED'
		WHEN count(p.*) FILTER (WHERE p.permissive = 'PERMISSIVE') = 0 THEN 'none'
		WHEN bool_and(coalesce(p.qual, '') || coalesce(p.with_check, '') LIKE '%uid()%' OR p.qual ~ '\(SELECT|ANY') FILTER (WHERE p.permissive = 'PERMISSIVE') THEN
			'own' || CASE WHEN count(p.*) FILTER (WHERE p.permissive = 'RESTRICTIVE' AND p.with_check LIKE '%mem_tenants%') = 2 THEN ', writes in own tenants' ELSE '' END
		ELSE 'all' END AS rows
	FROM relation r LEFT JOIN pg_policies p ON p.schemaname = r.nspname AND p.tablename = r.relname AND p.roles && '{authenticated,public}'
	WHERE r.relkind = 'r' GROUP BY r.oid, r.secured
), seen AS (
	SELECT r.oid, h.rows FROM relation r JOIN reach h ON h.oid = r.oid
	UNION ALL SELECT r.oid, CASE WHEN NOT r.invoker THEN 'UNSECURED' ELSE min(h.rows) || CASE WHEN count(DISTINCT h.rows) > 1 THEN ', UNLIKE' ELSE '' END END
	FROM relation r JOIN pg_rewrite w ON w.ev_class = r.oid JOIN pg_depend d ON d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
	JOIN reach h ON h.oid = d.refobjid WHERE r.relkind = 'v' GROUP BY r.oid, r.invoker
), may AS (
	SELECT r.oid, o.role, coalesce(string_agg(CASE
		WHEN has_table_privilege(o.role, r.oid, v.verb) THEN v.name
		WHEN v.nr <= 3 AND has_any_column_privilege(o.role, r.oid, v.verb) THEN v.name || ' (' || (SELECT CASE WHEN count(*) FILTER (WHERE NOT g.may) = 1
			THEN 'not ' || string_agg(g.attname, ', ') FILTER (WHERE NOT g.may) ELSE string_agg(g.attname, ', ' ORDER BY g.attnum) FILTER (WHERE g.may) END
			FROM (SELECT a.attname, a.attnum, has_column_privilege(o.role, r.oid, a.attnum, v.verb) AS may FROM pg_attribute a
				WHERE a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped) g) || ')' END, ', ' ORDER BY v.nr), '') AS rights
	FROM relation r, unnest(ARRAY['anon', 'authenticated', 'service_role']) AS o (role),
		(VALUES (1, 'SELECT', 'read'), (2, 'INSERT', 'insert'), (3, 'UPDATE', 'update'), (4, 'DELETE', 'delete'), (5, 'TRUNCATE', 'TRUNCATE'),
			(6, 'REFERENCES', 'REFERENCES'), (7, 'TRIGGER', 'TRIGGER')) AS v (nr, verb, name)
	GROUP BY r.oid, o.role
), called AS (
	SELECT n.nspname = 'public' AS shared, CASE WHEN n.nspname = 'public' THEN p.proname || '()' ELSE 'weft.' || split_part(p.proname, '_', 1) || '_…()' END AS name,
		has_function_privilege('anon', p.oid, 'EXECUTE') AS anon, has_function_privilege('authenticated', p.oid, 'EXECUTE') AS users,
		has_function_privilege('service_role', p.oid, 'EXECUTE') AS service, p.prosecdef
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 OR n.nspname = 'public' AND p.proname = ANY ($2)
)
SELECT x.name, x.anon, x.users, x.service, x.rows FROM (
	SELECT NOT r.shared AS inner, 0 AS kind, CASE WHEN r.shared THEN '' ELSE 'weft.' END || r.relname AS name,
		(SELECT m.rights FROM may m WHERE m.oid = r.oid AND m.role = 'anon') AS anon,
		(SELECT m.rights FROM may m WHERE m.oid = r.oid AND m.role = 'authenticated') AS users,
		(SELECT m.rights FROM may m WHERE m.oid = r.oid AND m.role = 'service_role') AS service, s.rows
	FROM relation r LEFT JOIN seen s ON s.oid = r.oid
	UNION ALL SELECT NOT c.shared, 1, c.name, CASE WHEN c.anon THEN 'call' ELSE '' END, CASE WHEN c.users THEN 'call' ELSE '' END,
		CASE WHEN c.service THEN 'call' ELSE '' END, CASE WHEN c.prosecdef THEN 'DEFINER' ELSE 'rights of the caller' END
	FROM called c GROUP BY c.shared, c.name, c.anon, c.users, c.service, c.prosecdef) x
ORDER BY x.inner, x.kind, x.name COLLATE "C", x.users`

// publicNames are the names of objects in the schema public.
var publicNames = []string{
	"agent_memories", "agent_conversations", "knowledge_chunks", "user_context", "user_quota", "agent_checkpoints", "proposals", "proposal_checkpoints",
	"proposal_sessions", "match_memories", "match_knowledge", "get_conversation", "save_conversation", "forget_me", "forget_user",
}

// The table in docs/supabase.md lists the grants and policies of the database. The flag -update rewrites the table.
func TestDocumentedRightsAreThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	p, owner := publicPlace(t)
	require.NoError(t, supacheckpoint.Migrate(t.Context(), owner, supacheckpoint.Options{
		Checkpoint: pgcheckpoint.Options{Schema: p.options.Schema, Pooling: pgcheckpoint.Direct}, Documents: true,
	}))
	// The first migration of supacheckpoint revokes the grants on all tables of the schema.
	require.NoError(t, pgmemory.MigratePublic(t.Context(), owner, p.options))
	found, err := owner.Query(t.Context(), rightsQuery, pgx.QueryExecModeExec, p.options.Schema, publicNames)
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("| | anon | authenticated | service_role | rows of authenticated |\n| --- | --- | --- | --- | --- |\n")
	var name, nobody, users, service, reach string
	_, err = pgx.ForEachRow(found, []any{&name, &nobody, &users, &service, &reach}, func() error {
		assert.Empty(t, nobody, "rights of anon on %s", name)
		assert.NotRegexp(t, `[A-Z]{5}`, users+service+reach, name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", name, dash(nobody), dash(users), dash(service), reach)
		return nil
	})
	require.NoError(t, err)
	const file, begin, end = "../../docs/supabase.md", "<!-- rights: begin -->\n", "<!-- rights: end -->"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), begin)
	require.True(t, ok, "no %q in %s", begin, file)
	got, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "no %q in %s", end, file)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+b.String()+end+after), 0o644))
		return
	}
	assert.Equal(t, b.String(), got, "run go test ./memory/pgmemory -run %s -update", t.Name())
}

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
