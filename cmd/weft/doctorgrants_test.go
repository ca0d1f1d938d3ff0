package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
)

// The rights of the programs' role are examined by that role itself, and by the owner of the tables with -role.
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
