package pgmemory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// putting returns a write to a key of the namespace "n".
func putting(key, value string) driver.ValueWrite {
	return driver.ValueWrite{Address: driver.Address{Namespace: []string{"n"}, Key: key}, Value: json.RawMessage(value), Terms: []string{"word"}}
}

// valueTables are the tables of values.
var valueTables = []string{"mem_value_scope", "mem_value"}

// A user can neither read nor change the values of another user, with the store or with SQL.
func TestValuesAreApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := supabasePlace(t)
	db := p.served(t)
	bind := func(user string) driver.ValueStore {
		bound, err := pgmemory.Bind(db, binding(user))
		assert.NoError(t, err, "bind")
		return bound.Values()
	}
	ann, bob := bind(annID), bind(bobID)
	w := putting("k", `"secret"`)
	w.TTL, w.Refresh = time.Hour, true
	_, err := ann.Apply(ctx, annScope, []driver.ValueWrite{w})
	assert.NoError(t, err, "ann puts")
	before := content(t, p, valueTables)
	for item, err := range bob.Find(ctx, annScope, driver.ValueSelection{Refresh: true}) {
		t.Errorf("bob finds %+v, error %v", item, err)
	}
	for labels, err := range bob.Namespaces(ctx, annScope, driver.NamespaceQuery{}) {
		t.Errorf("bob lists %q, error %v", labels, err)
	}
	c, err := bob.Search(ctx, annScope, driver.ValueSearch{Terms: []string{"word"}, Limit: 9})
	require.NoError(t, err, "bob searches")
	require.Empty(t, c.Records, "bob searches")
	require.EqualValues(t, 0, c.Values, "bob searches")
	assert.EqualValues(t, 0, c.Frequency[0], "bob searches")
	for name, s := range map[string]driver.Scope{"hers": annScope, "nobody's": {Tenant: "acme", User: "nobody"}, "of all": {Tenant: "acme"}} {
		for what, w := range map[string]driver.ValueWrite{"puts": putting("k", `"bob"`), "removes": {Address: w.Address}} {
			_, err := bob.Apply(ctx, s, []driver.ValueWrite{w})
			assert.ErrorIs(t, err, pgmemory.ErrDenied, "bob "+what+" in "+name)
		}
		n, err := bob.Forget(ctx, s)
		require.Equal(t, 0, n, "bob forgets %s", name)
		assert.NoError(t, err, "bob forgets %s", name)
	}
	pool := p.pool(t)
	scope := ask[int64](t, p, `SELECT key FROM weft.mem_value_scope WHERE user_id = '`+annID+`'`)
	for _, who := range []string{bobID, "nobody"} {
		for _, sql := range []string{
			`SELECT FROM weft.mem_value_scope`,
			`SELECT FROM weft.mem_value`,
			`SELECT FROM weft.mem_value WHERE raw::text LIKE '%secret%'`,
			`UPDATE weft.mem_value SET raw = '1'`,
			`UPDATE weft.mem_value_scope SET newest = now()`,
			`DELETE FROM weft.mem_value`,
			`DELETE FROM weft.mem_value_scope`,
		} {
			n, err := raw(ctx, pool, who, p.sql(sql))
			require.EqualValues(t, 0, n, "%s: %s", who, sql)
			assert.NoError(t, err, "%s: %s", who, sql)
		}
		for _, sql := range []string{
			fmt.Sprintf(`INSERT INTO weft.mem_value (scope, version, created_at, updated_at, word_count, refresh, namespace, name, model, value, raw, words, terms)
				VALUES (%d, 1, now(), now(), 0, false, '{n}', 'new', '', '1', '1', '{}', '{}')`, scope),
			`INSERT INTO weft.mem_value_scope (newest, digest, tenant, workspace, user_id, agent)
				VALUES (now(), weft.mem_digest('new', '', '` + annID + `', ''), 'new', '', '` + annID + `', '')`,
			`INSERT INTO weft.mem_value_scope (newest, digest, tenant, workspace, user_id, agent)
				VALUES (now(), weft.mem_digest('new', '', '` + annID + `', ''), 'new', '', '` + bobID + `', '')`,
			`TRUNCATE weft.mem_value`,
		} {
			_, err := raw(ctx, pool, who, p.sql(sql))
			assert.Error(t, err, "%s: %s", who, sql)
		}
	}
	assert.Equal(t, before, content(t, p, valueTables))
}

// After Forget, neither a dump nor the statistics of the columns have a value of the user.
func TestForgetValuesLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t).Values()
	scope := driver.Scope{Tenant: "acme", Workspace: "marker-workspace", User: "marker-user", Agent: "marker-agent"}
	var writes []driver.ValueWrite
	for i := range 100 {
		w := putting(fmt.Sprint("marker-key-", i), `{"marker-name":"marker-value"}`)
		w.Namespace, w.Terms, w.Embedding, w.Model = []string{"n", "marker-label"}, []string{"marker-term"}, []float32{1, 2}, "m"
		writes = append(writes, w)
	}
	first, err := store.Apply(ctx, scope, writes)
	assert.NoError(t, err, "apply")
	_, err = store.Apply(ctx, ann, []driver.ValueWrite{putting("k", `"what stays"`)})
	assert.NoError(t, err, "apply")
	do(t, p, `ANALYZE weft.mem_value_scope, weft.mem_value`)
	require.GreaterOrEqual(t, strings.Count(dump(t, p), "marker-value"), 100, "got nothing that could be forgotten")
	n, err := store.Forget(ctx, driver.Scope{Tenant: "acme", User: scope.User})
	require.Equal(t, 100, n)
	assert.NoError(t, err)
	after := dump(t, p)
	require.NotContains(t, after, "marker-", "got something of what was forgotten, or nothing of what was not")
	assert.Contains(t, after, "what stays", "got something of what was forgotten, or nothing of what was not")
	known := ask[int](t, p, `SELECT count(*) FROM pg_stats WHERE schemaname = $1 AND
		(most_common_vals::text LIKE '%marker-%' OR histogram_bounds::text LIKE '%marker-%' OR most_common_elems::text LIKE '%marker-%')`, p.options.Schema)
	assert.Equal(t, 0, known)
	again, err := store.Apply(ctx, scope, writes[:1])
	require.NoError(t, err)
	assert.Greater(t, again[0].Version, first[99].Version)
}

// MaxValues limits the values of a scope.
func TestValueQuota(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.MaxValues = 2
	store := p.open(t).Values()
	put := func(want error, writes ...driver.ValueWrite) {
		t.Helper()
		_, err := store.Apply(ctx, ann, writes)
		if want == nil {
			assert.NoError(t, err, "put")
		} else {
			assert.ErrorIs(t, err, want, "put")
		}
	}
	put(driver.ErrQuota, putting("1", `1`), putting("2", `1`), putting("3", `1`))
	put(nil, putting("1", `1`), putting("2", `1`))
	put(nil, putting("1", `2`))
	put(driver.ErrQuota, putting("3", `1`))
	put(nil, putting("3", `1`), driver.ValueWrite{Address: putting("1", "").Address})
	n := 0
	for _, err := range store.Find(ctx, ann, driver.ValueSelection{}) {
		assert.NoError(t, err, "find")
		n++
	}
	assert.Equal(t, 2, n)
}

// Concurrent reads that restart the TTL of the same values in different orders, and concurrent
// writes, neither fail nor block for long.
func TestRefreshAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newPlace(t).open(t).Values()
	var writes []driver.ValueWrite
	for i := range 50 {
		w := putting(fmt.Sprint(i), `1`)
		w.TTL, w.Refresh = time.Hour, true
		writes = append(writes, w)
	}
	put, err := store.Apply(ctx, ann, writes)
	assert.NoError(t, err, "apply")
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for range 20 {
				if w == 0 {
					_, err := store.Apply(ctx, ann, writes)
					assert.NoError(t, err, "apply")
					continue
				}
				n := 0
				for _, err := range store.Find(ctx, ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Order: driver.Order(w % 2), Limit: -1}, Refresh: true}) {
					assert.NoError(t, err, "find")
					n++
				}
				assert.Equal(t, 50, n)
			}
		})
	}
	wg.Wait()
	for item, err := range store.Find(ctx, ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}}) {
		require.NoError(t, err)
		assert.True(t, item.ExpiresAt.After(put[0].ExpiresAt))
	}
}

// If a read that restarts a TTL waits for a lock, lock_timeout ends the statement, and the statement is sent again. In a
// transaction of the caller, which cannot continue after an error, the read does not change lock_timeout.
func TestRefreshGivesUpALock(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t).Values()
	w := putting("a", `1`)
	w.TTL, w.Refresh = time.Hour, true
	put, err := store.Apply(ctx, ann, []driver.ValueWrite{w})
	require.NoError(t, err)
	const lock = `hashtextextended('weft.mem_value', 0)`
	do(t, p, `CREATE SEQUENCE weft.tries`)
	do(t, p, `CREATE FUNCTION weft.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('weft.tries') = 1 THEN PERFORM pg_advisory_xact_lock(`+lock+`); END IF;
		RETURN NEW; END $$`)
	do(t, p, `CREATE TRIGGER wait BEFORE UPDATE ON weft.mem_value FOR EACH ROW EXECUTE FUNCTION weft.wait()`)
	_, err = p.conn(t).Exec(ctx, p.sql(`SELECT pg_advisory_lock(`+lock+`)`))
	require.NoError(t, err)

	read := driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}, Refresh: true}
	for item, err := range store.Find(ctx, ann, read) {
		require.NoError(t, err)
		assert.True(t, item.ExpiresAt.After(put[0].ExpiresAt))
	}
	assert.Equal(t, 2, ask[int](t, p, `SELECT last_value::int FROM weft.tries`))

	tx, err := p.pool(t).Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	conn := p.conn(t)
	_, err = conn.Exec(ctx, `BEGIN`)
	require.NoError(t, err)
	for name, on := range map[string]pgmemory.Conn{"a transaction": tx, "a connection with a transaction": conn} {
		db, err := pgmemory.New(ctx, on, p.options)
		require.NoError(t, err)
		for _, err := range db.Values().Find(ctx, ann, read) {
			require.NoError(t, err)
		}
		rows, err := on.Query(ctx, `SHOW lock_timeout`)
		require.NoError(t, err)
		limit, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		require.NoError(t, err)
		assert.Equal(t, "0", limit, name)
	}
}
