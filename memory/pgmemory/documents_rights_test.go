package pgmemory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// A user can neither see nor change documents of other users, with the store or with SQL.
func TestKnowledgeOfUsers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := supabasePlace(t)
	db := p.served(t)
	hers, his := knownAs(t, db, annID), knownAs(t, db, bobID)
	vector := func() []float32 { return []float32{1, 0} }
	swapIn(t, hers, annScope, document("small", 2, vector), document("large", 100, vector))
	swapIn(t, his, driver.Scope{Tenant: "acme", User: bobID}, document("bob's", 1, vector))
	source := sourcesOf(t, hers, driver.SourceQuery{Reach: annScope.Only()})[0]
	assert.Equal(t, 100, source.Chunks)
	everywhere := driver.SourceQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true}}
	for name, q := range map[string]driver.SourceQuery{"her scope": {Reach: annScope.Only()}, "all but his": {Reach: driver.Reach{Scope: everywhere.Scope, AnyUser: true}, URIs: []string{"small", "large"}}} {
		list := sourcesOf(t, his, q)
		assert.Empty(t, list, "bob, %s", name)
		c, err := his.Search(ctx, driver.ChunkSearch{Query: q, Terms: []string{"part"}, Embedding: []float32{1, 0}, Model: "m", Limit: 9})
		require.NoError(t, err, "bob searches, %s", name)
		require.Empty(t, c.Records, "bob searches, %s", name)
		require.EqualValues(t, 0, c.Chunks, "bob searches, %s", name)
		require.EqualValues(t, 0, c.Terms, "bob searches, %s", name)
		assert.EqualValues(t, 0, c.Frequency[0], "bob searches, %s", name)
		n, err := his.Delete(ctx, q)
		require.Equal(t, 0, n, "bob deletes, %s", name)
		assert.NoError(t, err, "bob deletes, %s", name)
	}
	for c, err := range his.Chunks(ctx, []driver.ChunkSpan{{Scope: annScope, Source: source.ID, To: 9}}) {
		t.Errorf("bob: got the chunk %q of ann's, error %v", c.Content, err)
	}
	for name, s := range map[string]driver.Scope{"hers": annScope, "one that is not there": {Tenant: "acme", User: "nobody"}, "of all": {Tenant: "acme"}} {
		for _, chunks := range []int{1, 100} {
			err := his.Swap(ctx, driver.SourceChange{Scope: s, Swaps: []driver.SourceSwap{document("small", chunks, vector)}})
			assert.ErrorIs(t, err, pgmemory.ErrDenied, fmt.Sprint("bob swaps in ", name))
		}
	}
	foreignDocuments(t, p)
	assert.Equal(t, 103, ask[int](t, p, `SELECT count(*) FROM weft.mem_chunk`))
	n, err := hers.Delete(ctx, driver.SourceQuery{Reach: annScope.Only()})
	require.Equal(t, 2, n)
	assert.NoError(t, err)
}

// foreignDocuments runs SQL as bob and without a user, on documents of another user.
func foreignDocuments(t *testing.T, p place) {
	t.Helper()
	ctx := context.Background()
	pool := p.pool(t)
	tables := []string{"mem_shelf", "mem_source", "mem_chunk"}
	digests := func() string {
		var all strings.Builder
		for _, table := range tables {
			all.WriteString(ask[string](t, p, `SELECT md5(string_agg(x::text, '' ORDER BY x::text)) FROM weft.`+table+` x`))
		}
		return all.String()
	}
	shelf := ask[int64](t, p, `SELECT key FROM weft.mem_shelf WHERE user_id = '`+annID+`'`)
	own := ask[int64](t, p, `SELECT key FROM weft.mem_shelf WHERE user_id = '`+bobID+`'`)
	before := digests()
	for _, who := range []string{bobID, "nobody"} {
		for _, table := range tables {
			column := "shelf"
			if table == "mem_shelf" {
				column = "key"
			}
			mine := fmt.Sprintf(`%s.%s = %d`, table, column, shelf)
			for _, sql := range []string{
				`SELECT FROM weft.` + table + ` WHERE ` + mine, `DELETE FROM weft.` + table + ` WHERE ` + mine,
				`UPDATE weft.` + table + ` SET ` + column + ` = DEFAULT WHERE ` + mine + ` AND false`,
				`SELECT FROM weft.` + table + ` a CROSS JOIN weft.mem_shelf s WHERE s.user_id = '` + annID + `'`,
			} {
				n, err := raw(ctx, pool, who, p.sql(sql))
				require.EqualValues(t, 0, n, "%s: %s", who, sql)
				assert.NoError(t, err, "%s: %s", who, sql)
			}
			n, err := raw(ctx, pool, who, p.sql(`COPY weft.`+table+` TO STDOUT`))
			assert.False(t, n > 1 && err == nil, "%s: copies %d rows of %s", who, n, table)
		}
		for _, sql := range []string{
			fmt.Sprintf(`UPDATE weft.mem_shelf SET chunks = 0 WHERE key = %d`, shelf),
			fmt.Sprintf(`UPDATE weft.mem_source SET title = 'x' WHERE shelf = %d`, shelf),
			fmt.Sprintf(`UPDATE weft.mem_chunk SET content = 'x' WHERE shelf = %d`, shelf),
			fmt.Sprintf(`UPDATE weft.mem_chunk SET shelf = %d WHERE shelf = %d AND %d <> %d`, shelf, shelf, own, shelf),
		} {
			n, err := raw(ctx, pool, who, p.sql(sql))
			require.EqualValues(t, 0, n, "%s: %s", who, sql)
			assert.NoError(t, err, "%s: %s", who, sql)
		}
		for _, sql := range []string{
			`INSERT INTO weft.mem_shelf (digest, tenant, workspace, user_id, agent, newest)
				VALUES (weft.mem_digest('acme', '', '` + annID + `', ''), 'acme', '', '` + annID + `', '', now()) ON CONFLICT DO NOTHING`,
			// A scope of bob with the digest of another user's scope.
			`INSERT INTO weft.mem_shelf (digest, tenant, workspace, user_id, agent, newest)
				VALUES (weft.mem_digest('new', '', '` + annID + `', ''), 'new', '', '` + bobID + `', '', now())`,
			fmt.Sprintf(`INSERT INTO weft.mem_chunk (shelf, source, starts, ends, ordinal, tokens, word_count, id, model, headings, content, words, terms)
				VALUES (%d, 1, 0, 0, 0, 0, 0, gen_random_uuid(), '', '{}', '', '{}', '{}')`, shelf),
			`COPY weft.mem_chunk FROM STDIN`,
		} {
			_, err := raw(ctx, pool, who, p.sql(sql))
			assert.Error(t, err, "%s: %s", who, sql)
		}
	}
	// Bob cannot move his own chunks to the scope of another user.
	n, err := raw(ctx, pool, bobID, p.sql(fmt.Sprintf(`UPDATE weft.mem_chunk SET shelf = %d WHERE shelf = %d`, shelf, own)))
	assert.Error(t, err, "bob gives ann %d chunks", n)
	assert.Equal(t, before, digests(), "something was changed")
}

// One policy lets the users of a project share documents.
func TestKnowledgeIsShared(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := supabasePlace(t)
	db := p.served(t)
	swapIn(t, db.Documents(), docs, document("handbook", 3, nil))
	q := driver.SourceQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme", User: annID}, Inherit: true}}
	store := knownAs(t, db, annID)
	assert.Empty(t, sourcesOf(t, store, q))
	do(t, p, `CREATE POLICY shared ON weft.mem_shelf FOR SELECT TO authenticated USING (user_id = '' AND tenant = 'acme')`)
	c, err := store.Search(ctx, driver.ChunkSearch{Query: q, Terms: []string{"part"}, Limit: 9})
	require.NoError(t, err)
	require.Len(t, c.Records, 3)
	assert.EqualValues(t, 3, c.Chunks)
	err = store.Swap(ctx, driver.SourceChange{Scope: docs, Swaps: []driver.SourceSwap{document("poison", 1, nil)}})
	assert.ErrorIs(t, err, pgmemory.ErrDenied, "a user writes for all")
	swapIn(t, store, q.Scope, document("ann's", 1, nil))
	_, err = store.Delete(ctx, q)
	assert.ErrorIs(t, err, pgmemory.ErrDenied, "a user removes what is for all")
	assert.Len(t, sourcesOf(t, store, q), 2)
}
