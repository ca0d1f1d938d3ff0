package main

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
)

// The doctor names the missing rights of a role: with -role if it connects as the owner of the tables, and without -role
// if it connects as the role. Without -role, it skips a role that only reads.
func TestDoctorNamesTheRightsThatARoleLacks(t *testing.T) {
	t.Parallel()
	base, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	_, _, errs := newTerminal(t, nil).call("threads", "migrate", "-db", base, "-schema", schema, "-runs", "-queue")
	require.Empty(t, errs)
	role := schema + "_app"
	pgtest.Do(t, base, `CREATE ROLE `+role+` LOGIN PASSWORD 'p'`)
	defer func() { pgtest.Do(t, base, `DROP OWNED BY `+role); pgtest.Do(t, base, `DROP ROLE `+role) }()
	for _, grant := range []string{"USAGE ON SCHEMA " + schema, "SELECT ON ALL TABLES IN SCHEMA " + schema} {
		pgtest.Do(t, base, "GRANT "+grant+" TO "+role)
	}
	u, err := url.Parse(base)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "p")
	line := func(db string, more ...string) string {
		t.Helper()
		_, out, errs := newTerminal(t, nil).call(append([]string{"doctor", "-db", db, "-schema", schema}, more...)...)
		for text := range strings.Lines(out) {
			if strings.Contains(text, " grants ") {
				return strings.Join(strings.Fields(text), " ")
			}
		}
		require.Fail(t, "no line", out+errs)
		return ""
	}
	assert.Contains(t, line(u.String()), "skip grants the role "+role+" only reads")
	assert.Contains(t, line(base, "-role", role), "FAULT grants the role "+role+" lacks rights that programs need: DELETE on cp_")
	pgtest.Do(t, base, "CREATE TABLE "+schema+".run_history (id bigserial)")
	pgtest.Do(t, base, "CREATE TABLE "+schema+".mem_fact (id bigserial)")
	for statement := range strings.SplitSeq(remedyOf(t, base, "-schema", schema, "-role", role), "; ") {
		pgtest.Do(t, base, statement)
	}
	assert.Contains(t, line(base, "-role", role), "ok grants", "the remedy gives the rights that lack")
	for _, relation := range []string{"cp_migration", "run_migration", "river_migration", "run_history", "mem_fact"} {
		assert.False(t, pgtest.Ask[bool](t, base, "SELECT has_table_privilege($1, $2, 'INSERT')", role, schema+"."+relation), relation)
	}
	assert.Contains(t, line(base), "ok grants")
	pgtest.Do(t, base, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+schema+" TO "+role)
	pgtest.Do(t, base, "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA "+schema+" TO "+role)
	assert.Contains(t, line(u.String()), "ok grants")
	assert.Contains(t, line(base, "-role", role), "ok grants")
	for _, right := range []string{"SELECT ON " + schema + ".cp_open", "INSERT ON " + schema + ".cp_step", "UPDATE ON " + schema + ".river_job"} {
		pgtest.Do(t, base, "REVOKE "+right+" FROM "+role)
		what := strings.Replace(strings.Replace(right, schema+".", "", 1), " ON ", " on ", 1)
		assert.Contains(t, line(u.String()), "FAULT grants the role "+role+" lacks rights that programs need: "+what)
		assert.Contains(t, line(base, "-role", role), what)
		pgtest.Do(t, base, "GRANT "+right+" TO "+role)
	}
	assert.Contains(t, line(base, "-role", "nobody_at_all"), "FAULT grants the rights of the role cannot be examined: there is no role nobody_at_all")
}

// The grants of docs/deployment.md give a role all rights that the doctor checks, and no right to change the migration tables.
func TestTheGrantsOfTheGuideAreEnough(t *testing.T) {
	t.Parallel()
	base, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	_, _, errs := newTerminal(t, nil).call("threads", "migrate", "-db", base, "-schema", schema, "-runs", "-queue")
	require.Empty(t, errs)
	role := schema + "_app"
	pgtest.Do(t, base, `CREATE ROLE `+role)
	defer func() { pgtest.Do(t, base, `DROP OWNED BY `+role); pgtest.Do(t, base, `DROP ROLE `+role) }()
	text, err := os.ReadFile("testdata/grants.sql")
	require.NoError(t, err)
	names := strings.NewReplacer("SCHEMA weft", "SCHEMA "+schema, "weft.", schema+".", "TO app", "TO "+role, "FROM app", "FROM "+role)
	for _, statement := range pgtest.Statements(names.Replace(string(text))) {
		pgtest.Do(t, base, statement)
	}
	_, out, errs := newTerminal(t, nil).call("doctor", "-db", base, "-schema", schema, "-role", role)
	assert.Contains(t, strings.Join(strings.Fields(out), " "), "ok grants", errs)
	for _, relation := range []string{"cp_migration", "run_migration", "river_migration"} {
		assert.False(t, pgtest.Ask[bool](t, base, "SELECT has_table_privilege($1, $2, 'INSERT, UPDATE, DELETE')", role, schema+"."+relation), relation)
	}
}

// remedyOf returns the statements that doctor recommends for the rights of a role.
func remedyOf(t *testing.T, db string, more ...string) string {
	t.Helper()
	_, out, errs := newTerminal(t, nil).call(append([]string{"doctor", "-db", db}, more...)...)
	for text := range strings.Lines(out) {
		if _, remedy, ok := strings.Cut(text, "as the role that owns the tables: "); ok {
			return strings.TrimSpace(remedy)
		}
	}
	require.Fail(t, "no remedy", out+errs)
	return ""
}

func TestTheRightsOfASupabaseProjectAreEnough(t *testing.T) {
	t.Parallel()
	p := supabase(t, "weft_grants")
	_, out, errs := newTerminal(t, nil).call("doctor", "-db", p.flags[1], "-schema", p.flags[3], "-role", "authenticated")
	assert.Contains(t, out, "the role may read and write the tables of the schema", errs)
	assert.NotContains(t, out, "lacks rights")
}

func TestDoctorExaminesTheRightsOfARoleInASchemaWithoutTables(t *testing.T) {
	t.Parallel()
	base, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	role := pgtest.Ask[string](t, base, "SELECT current_user::text")
	_, out, errs := newTerminal(t, nil).call("doctor", "-db", base, "-schema", schema, "-role", role)
	assert.NotContains(t, out, " grants ", errs)
	assert.Contains(t, out, "weft threads migrate")
	_, out, errs = newTerminal(t, nil).call("doctor", "-db", base, "-schema", schema, "-role", "nobody_at_all")
	assert.Contains(t, out, "there is no role nobody_at_all", errs)
}

// programTables selects each table that a migration makes. If a migration makes a new table, add its name to programTables.
func TestDoctorKnowsTheTablesThatMigrationsMake(t *testing.T) {
	t.Parallel()
	base, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	_, _, errs := newTerminal(t, nil).call("threads", "migrate", "-db", base, "-schema", schema, "-runs", "-queue")
	require.Empty(t, errs)
	m, err := pgmemory.Open(t.Context(), base, pgmemory.Options{Schema: schema})
	require.NoError(t, err)
	m.Close()
	assert.Empty(t, pgtest.Ask[[]string](t, base, `SELECT coalesce(array_agg(c.relname::text), '{}') FROM pg_class c
		WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT (`+programTables+`)`, schema))
}

func TestMigrationsAreToldWhenTheQueueFails(t *testing.T) {
	t.Parallel()
	base, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	pgtest.Do(t, base, "CREATE TABLE "+schema+".river_job (id int)")
	pgtest.Do(t, base, "CREATE TABLE "+schema+".mem_fact (id int)")
	code, out, errs := newTerminal(t, nil).call("threads", "migrate", "-db", base, "-schema", schema)
	assert.NotZero(t, code)
	assert.Contains(t, out, "applied 001_checkpoint")
	assert.NotContains(t, out, "river_*")
	assert.Contains(t, errs, "Not migrated: the memory")
	assert.Contains(t, errs, "river")
}

// If the role of a program has no right to make the tables, the error names the command that makes them.
func TestAProgramThatMayNotMigrateNamesTheCommand(t *testing.T) {
	t.Parallel()
	base, schema := pgtest.DirectURL(t), pgtest.Schema(t)
	role := schema + "_new"
	pgtest.Do(t, base, `CREATE ROLE `+role+` LOGIN PASSWORD 'p'`)
	defer func() { pgtest.Do(t, base, `DROP OWNED BY `+role); pgtest.Do(t, base, `DROP ROLE `+role) }()
	u, err := url.Parse(base)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "p")
	pool, err := pgxpool.New(t.Context(), u.String())
	require.NoError(t, err)
	defer pool.Close()
	for _, place := range []string{schema, schema + "_missing"} { // the role has no right to use the first schema, nor to make the second
		_, err = pgcheckpoint.Open(t.Context(), u.String(), pgcheckpoint.Options{Schema: place})
		require.ErrorContains(t, err, "with the role that owns them, by weft threads migrate: ")
		_, err = pgruns.Open(t.Context(), u.String(), pgruns.Options{Schema: place})
		require.ErrorContains(t, err, "by weft threads migrate -runs: ")
		_, err = pgmemory.Open(t.Context(), u.String(), pgmemory.Options{Schema: place})
		require.ErrorContains(t, err, "by pgmemory.Migrate: ")
		err = riverqueue.Migrate(t.Context(), pool, riverqueue.Options{Schema: place})
		require.ErrorContains(t, err, "by weft threads migrate -queue: ")
		assert.ErrorContains(t, err, "permission denied")
	}
}
