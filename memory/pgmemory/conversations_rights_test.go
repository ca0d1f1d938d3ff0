package pgmemory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// saying returns a turn in which a user says a text.
func saying(session string, texts ...string) driver.SessionChange {
	c := driver.SessionChange{Session: session}
	for _, text := range texts {
		row := driver.MessageRow{ID: newID(), Role: llm.RoleUser, Text: text, Terms: strings.Fields(text)}
		row.Data = fmt.Appendf(nil, `{"type":"human","data":{"content":%q}}`, text)
		copy(row.Key[:], text)
		c.Rows = append(c.Rows, row)
	}
	return c
}

// talkTables are the tables of conversations.
var talkTables = []string{"mem_session", "mem_message", "mem_forgotten"}

// content returns the rows of tables as text.
func content(t *testing.T, p place, tables []string) string {
	t.Helper()
	var all strings.Builder
	for _, table := range tables {
		all.WriteString(ask[string](t, p, `SELECT coalesce(string_agg(x::text, ',' ORDER BY x::text), '') FROM weft.`+table+` x`))
	}
	return all.String()
}

// A user can neither read nor change the conversations of another user, with the store or with SQL.
func TestConversationsAreApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := supabasePlace(t)
	db := p.served(t)
	bind := func(user string) driver.ConversationStore {
		bound, err := pgmemory.Bind(db, binding(user))
		assert.NoError(t, err, "bind")
		return bound.Conversations()
	}
	ann, bob := bind(annID), bind(bobID)
	for user, store := range map[string]driver.ConversationStore{annID: ann, bobID: bob} {
		for _, c := range []driver.SessionChange{saying("gone", "x"), {Session: "gone", Delete: true}, saying("s", "secret of "+user)} {
			_, err := store.Apply(ctx, driver.Scope{Tenant: "acme", User: user}, c)
			assert.NoError(t, err, "apply")
		}
	}
	before := content(t, p, talkTables)
	everywhere := driver.SessionQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true}, Limit: -1}
	for s, err := range bob.Sessions(ctx, everywhere) {
		require.Equal(t, bobID, s.Scope.User)
		assert.NoError(t, err)
	}
	c, err := bob.Search(ctx, driver.MessageSearch{Query: everywhere, Roles: []llm.Role{llm.RoleUser}, Terms: []string{"secret"}, Limit: 9})
	require.NoError(t, err, "bob searches")
	require.Len(t, c.Rows, 1, "bob searches")
	require.EqualValues(t, 1, c.Messages, "bob searches")
	assert.EqualValues(t, 1, c.Frequency[0], "bob searches")
	for r, err := range bob.Messages(ctx, driver.MessageRange{Scope: annScope, Session: "s"}) {
		t.Errorf("bob reads %+v, error %v", r, err)
	}
	for name, s := range map[string]driver.Scope{"hers": annScope, "nobody's": {Tenant: "acme", User: "nobody"}, "of all": {Tenant: "acme"}} {
		_, err := bob.Apply(ctx, s, saying("s", "bob was here"))
		assert.ErrorIs(t, err, pgmemory.ErrDenied, "bob says in "+name)
		_, err = bob.Apply(ctx, s, driver.SessionChange{Session: "s", Delete: true})
		assert.ErrorIs(t, err, driver.ErrNotFound, "bob deletes in "+name)
		_, err = bob.Forget(ctx, s)
		assert.ErrorIs(t, err, pgmemory.ErrDenied, "bob forgets "+name)
	}
	swept, err := bob.Sweep(ctx, annScope, -time.Hour, 9)
	require.NoError(t, err, "bob sweeps ann's")
	assert.Zero(t, swept, "bob sweeps ann's")

	pool := p.pool(t)
	session := ask[int64](t, p, `SELECT key FROM weft.mem_session WHERE user_id = '`+annID+`'`)
	for _, who := range []string{bobID, "nobody"} {
		for _, sql := range []string{
			`SELECT FROM weft.mem_session WHERE user_id <> '` + bobID + `'`,
			`SELECT FROM weft.mem_message WHERE text LIKE '%` + annID + `%'`,
			`SELECT FROM weft.mem_message m JOIN weft.mem_session s ON s.key = m.session WHERE s.user_id <> '` + bobID + `'`,
			`UPDATE weft.mem_session SET title = 'x' WHERE user_id <> '` + bobID + `'`,
			fmt.Sprint(`UPDATE weft.mem_message SET text = 'x' WHERE session = `, session),
			fmt.Sprint(`DELETE FROM weft.mem_message WHERE session = `, session),
			fmt.Sprint(`DELETE FROM weft.mem_session WHERE key = `, session),
		} {
			n, err := raw(ctx, pool, who, p.sql(sql))
			require.EqualValues(t, 0, n, "%s: %s", who, sql)
			assert.NoError(t, err, "%s: %s", who, sql)
		}
		const columns = `(session, position, at, owner, said, role, id, text, data, words, terms, word_count)`
		values := func(user string) string {
			return fmt.Sprintf(`VALUES (%d, 2, now(), weft.mem_digest('%s'), '', 'user', 'x', 'x', '{}', '{}', '{}', 0)`, session, user)
		}
		for _, sql := range []string{
			`INSERT INTO weft.mem_message ` + columns + values(annID),
			`INSERT INTO weft.mem_message ` + columns + values(bobID), // a message of bob in the session of another user
			`INSERT INTO weft.mem_session (digest, owner, tenant, workspace, user_id, agent, id, title, messages, created_at, updated_at)
				VALUES (weft.mem_digest('acme', '', '` + annID + `', ''), weft.mem_digest('` + bobID + `'), 'acme', '', '` + bobID + `', '', 'new', '', 0, now(), now())`,
			`INSERT INTO weft.mem_session (digest, owner, tenant, workspace, user_id, agent, id, title, messages, created_at, updated_at)
				VALUES (weft.mem_digest('acme', '', '` + annID + `', ''), weft.mem_digest('` + annID + `'), 'acme', '', '` + annID + `', '', 'new', '', 0, now(), now())`,
			`TRUNCATE weft.mem_message`,
		} {
			_, err := raw(ctx, pool, who, p.sql(sql))
			assert.Error(t, err, "%s: %s", who, sql)
		}
	}
	move := p.sql(fmt.Sprint(`UPDATE weft.mem_message SET session = `, session, `, position = 2`))
	_, err = raw(ctx, pool, bobID, move)
	assert.Error(t, err, move)
	assert.Equal(t, before, content(t, p, talkTables))
}

// After Forget, neither a dump nor the statistics of the columns have a message of the user.
func TestForgetConversationsLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t).Conversations()
	scope := driver.Scope{Tenant: "acme", Workspace: "marker-workspace", User: "marker-user", Agent: "marker-agent"}
	for i := range 30 {
		c := saying(fmt.Sprint("marker-session-", i), "marker-text", "marker-other")
		c.Rows[0].ID = fmt.Sprint("marker-id-", i)
		_, err := store.Apply(ctx, scope, c)
		assert.NoError(t, err, "apply")
		_, err = store.Apply(ctx, scope, driver.SessionChange{Session: c.Session, Describe: &driver.SessionDescription{Title: "marker-title", Metadata: []byte(`{"marker-name":"x"}`)}})
		assert.NoError(t, err, "describe")
	}
	_, err := store.Apply(ctx, ann, saying("s", "what stays"))
	assert.NoError(t, err, "apply")
	_, err = store.Apply(ctx, scope, driver.SessionChange{Session: "marker-session-0", Delete: true})
	assert.NoError(t, err, "delete")
	do(t, p, `ANALYZE weft.mem_session, weft.mem_message`)
	require.GreaterOrEqual(t, strings.Count(dump(t, p), "marker-title"), 29, "got nothing that could be forgotten")
	n, err := store.Forget(ctx, driver.Scope{Tenant: "acme", User: scope.User})
	require.Equal(t, 29, n)
	assert.NoError(t, err)
	after := dump(t, p)
	require.NotContains(t, after, "marker-", "got something of what was forgotten, or nothing of what was not")
	assert.Contains(t, after, "what stays", "got something of what was forgotten, or nothing of what was not")
	known := ask[int](t, p, `SELECT count(*) FROM pg_stats WHERE schemaname = $1 AND
		(most_common_vals::text LIKE '%marker-%' OR histogram_bounds::text LIKE '%marker-%' OR most_common_elems::text LIKE '%marker-%')`, p.options.Schema)
	assert.Equal(t, 0, known)
}

// MaxMessages limits the messages of a session.
func TestMessageQuota(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.MaxMessages = 3
	store := p.open(t).Conversations()
	first := saying("s", "one", "two", "three")
	_, err := store.Apply(ctx, ann, saying("t", "one", "two", "three", "four"))
	assert.ErrorIs(t, err, driver.ErrQuota, "too many")
	for s, err := range store.Sessions(ctx, driver.SessionQuery{Reach: ann.Only()}) {
		t.Errorf("got session %+v, error %v want none", s, err)
	}
	_, err = store.Apply(ctx, ann, first)
	assert.NoError(t, err, "as many as may be")
	_, err = store.Apply(ctx, ann, first)
	assert.NoError(t, err, "those that are there")
	_, err = store.Apply(ctx, ann, saying("s", "four"))
	assert.ErrorIs(t, err, driver.ErrQuota, "one more")
	c := saying("s", "four")
	c.From = 3
	_, err = store.Apply(ctx, ann, c)
	assert.NoError(t, err, "one for one")
}

// If the database lacks a function or a table, the error names it and says to call Migrate.
func TestMissingFunction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t).Conversations()
	do(t, p, `DROP FUNCTION weft.mem_converse`)
	_, err := store.Apply(ctx, ann, saying("s", "x"))
	assert.ErrorIs(t, err, pgmemory.ErrNotMigrated, "no function")
	require.ErrorContains(t, err, "mem_converse")
	assert.ErrorContains(t, err, "Migrate")
	do(t, p, `DROP TABLE weft.mem_message`)
	for _, err = range store.Messages(ctx, driver.MessageRange{Scope: ann, Session: "s"}) {
		assert.ErrorIs(t, err, pgmemory.ErrNotMigrated, "no table")
	}
	assert.Error(t, err, "got no error for a table that is not there")
}
