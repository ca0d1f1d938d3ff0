package pgmemory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// dump returns all data of a schema, with pg_dump if it is installed, otherwise row by row.
func dump(t *testing.T, p place) string {
	t.Helper()
	if program := dumper(t, p); program != "" {
		out, err := exec.Command(program, "--schema", p.options.Schema, "--dbname", p.direct).CombinedOutput()
		require.NoError(t, err, "%v: %s", err, out)
		return string(out)
	}
	var all strings.Builder
	conn := p.conn(t)
	for _, table := range tables {
		rows, err := conn.Query(context.Background(), p.sql(`SELECT x::text FROM weft.`+table+` x`))
		require.NoError(t, err)
		for rows.Next() {
			all.Write(rows.RawValues()[0])
		}
		require.NoError(t, rows.Err())
	}
	return all.String()
}

// dumper returns the path of a pg_dump that is at least as new as the server.
func dumper(t *testing.T, p place) string {
	t.Helper()
	home := os.Getenv("WEFT_POSTGRES_HOME")
	if home == "" {
		home = "/var/tmp/weft-postgres"
	}
	found, _ := filepath.Glob(filepath.Join(home, "*", "usr", "lib", "postgresql", "*", "bin", "pg_dump"))
	server := ask[int](t, p, `SELECT current_setting('server_version_num')::int / 10000`)
	for _, program := range append(found, "pg_dump") {
		out, err := exec.Command(program, "--version").Output()
		var version int
		if _, bad := fmt.Sscanf(string(out), "pg_dump (PostgreSQL) %d", &version); err == nil && bad == nil && version >= server {
			return program
		}
	}
	return ""
}

// After Forget, neither a dump nor the statistics of the columns have a stored, changed,
// superseded or deleted fact of the user.
func TestForgetLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t).Facts()
	scope := driver.Scope{Tenant: "acme", User: "marker-user-00", Workspace: "marker-workspace-01", Agent: "marker-agent-02"}
	var markers []string
	marker := func(what string) string {
		markers = append(markers, fmt.Sprintf("marker-%s-%02d", what, len(markers)))
		return markers[len(markers)-1]
	}
	markers = []string{scope.User, scope.Workspace, scope.Agent}
	for i := range 3 {
		first := adding(marker("content"), 1, 2)
		first.Actor, first.Job = marker("actor"), marker("job")
		if i < 2 { // the history of deleted facts has only their content
			first.Record.Metadata = fmt.Appendf(nil, `{%q:%q}`, marker("name"), marker("value"))
			first.Record.Conversation = marker("conversation")
		}
		second := first
		second.Kind, second.Record.Content = driver.Update, marker("update")
		changes := []driver.FactChange{first, second}
		if i == 2 {
			changes = append(changes, driver.FactChange{Kind: driver.Delete, Job: first.Job, Record: driver.FactRecord{Fact: driver.Fact{ID: first.Record.ID}}})
		}
		_, err := store.Apply(ctx, scope, changes)
		assert.NoError(t, err, "apply")
	}
	var many []driver.FactChange
	for i := range 100 {
		many = append(many, adding(fmt.Sprint(markers[0], " ", markers[3], " ", i)))
	}
	_, err := store.Apply(ctx, scope, many)
	assert.NoError(t, err, "apply")
	_, err = store.Apply(ctx, ann, []driver.FactChange{adding("what stays")})
	assert.NoError(t, err, "apply")
	for _, table := range tables {
		do(t, p, `ANALYZE weft.`+table)
	}
	before := dump(t, p)
	for _, m := range markers {
		assert.Contains(t, before, m)
	}
	require.GreaterOrEqual(t, len(markers), 20)
	n, err := store.Forget(ctx, driver.Scope{Tenant: "acme", User: scope.User})
	require.Equal(t, 102, n)
	assert.NoError(t, err)
	after := dump(t, p)
	for _, m := range markers {
		assert.NotContains(t, after, m)
	}
	assert.Contains(t, after, "what stays", "others' facts are gone")
	known := ask[int](t, p, `SELECT count(*) FROM pg_stats WHERE schemaname = $1 AND tablename <> 'mem_scope' AND
		(most_common_vals::text LIKE '%marker-%' OR histogram_bounds::text LIKE '%marker-%' OR most_common_elems::text LIKE '%marker-%')`, p.options.Schema)
	assert.Equal(t, 0, known)
}

// If a user is forgotten while runs and jobs store facts, no fact that was said before the call
// is stored after it.
func TestForgetDuringRuns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t).Facts()
	said := time.Now().Add(-time.Minute)
	user := driver.Scope{Tenant: "acme", User: "eve"}
	var wg sync.WaitGroup
	begun := make(chan struct{}, 1000)
	fenced := make([]int, 8)
	for w := range fenced {
		wg.Go(func() {
			s := user
			s.Agent = fmt.Sprint("agent ", w%3)
			for i := range 40 {
				c := adding(fmt.Sprint("secret ", w, " ", i))
				c.Said, c.Job = said, fmt.Sprint("job ", w, " ", i)
				_, err := store.Apply(ctx, s, []driver.FactChange{c})
				begun <- struct{}{}
				switch {
				case errors.Is(err, driver.ErrForgotten):
					fenced[w]++
				case err != nil:
					t.Error(err)
				}
			}
		})
	}
	for range 40 {
		<-begun
	}
	n, err := store.Forget(ctx, user)
	assert.NoError(t, err, "forget")
	wg.Wait()
	late := 0
	for _, f := range fenced {
		late += f
	}
	require.NotEqual(t, 0, n)
	assert.Equal(t, 8*40, n+late)
	for _, table := range []string{"mem_fact", "mem_event", "mem_job", "mem_scope"} {
		n := ask[int](t, p, `SELECT count(*) FROM weft.`+table)
		assert.Equal(t, 0, n, table)
	}
}
