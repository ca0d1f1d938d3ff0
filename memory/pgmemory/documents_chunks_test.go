package pgmemory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/pgmemory"
)

// remoteCall calls a function as PostgREST does: the body of the request is JSON with the arguments
// by name.
const remoteCall = `SELECT call.id::text || ' ' || call.content || ' of ' || call.source || ' ' || round(call.similarity::numeric, 2)
	FROM (SELECT $1::json AS data) payload,
	LATERAL (SELECT * FROM json_to_record(payload.data) AS x (query_embedding extensions.vector, match_count int)) body,
	LATERAL public.match_knowledge(query_embedding := body.query_embedding, match_count := body.match_count) call`

// knownAs returns the store of documents with the rights of a user, or of the service role.
func knownAs(tb testing.TB, db *pgmemory.DB, user string) driver.DocumentStore {
	tb.Helper()
	bound, err := pgmemory.Bind(db, binding(user))
	require.NoError(tb, err)
	return bound.Documents()
}

func wantTexts(t *testing.T, what string, got []string, err error, want ...string) {
	t.Helper()
	require.NoError(t, err, what)
	if len(want) == 0 {
		assert.Empty(t, got, what)
		return
	}
	assert.Equal(t, want, got, what)
}

func sourcesOf(t *testing.T, store driver.DocumentStore, q driver.SourceQuery) (list []driver.Source) {
	t.Helper()
	for s, err := range store.Sources(context.Background(), q) {
		require.NoError(t, err)
		list = append(list, s)
	}
	return list
}

// The store finds chunks that other programs write, and other programs find ingested chunks.
func TestKnowledgeBySQL(t *testing.T) {
	t.Parallel()
	p, owner := publicPlace(t)
	db, pool := p.served(t), p.pool(t)
	const insert = `INSERT INTO public.knowledge_chunks (content, source, embedding) VALUES ($1, $2, $3) RETURNING id::text`
	t.Run("what is written is searched", func(t *testing.T) { chunksAreSearched(t, pool, db, insert) })
	t.Run("what is ingested is matched", func(t *testing.T) { chunksAreMatched(t, p, pool, owner, db) })
	t.Run("what is changed or deleted is so", func(t *testing.T) { chunksAreChanged(t, pool, db) })
	t.Run("users are apart", func(t *testing.T) { chunksOfUsersAreApart(t, pool, db) })
}

func chunksAreSearched(t *testing.T, pool *pgxpool.Pool, db *pgmemory.DB, insert string) {
	ctx := context.Background()
	store := db.Documents()
	var ids []string
	for range 2 { // the second time adds no duplicates
		for _, c := range [][3]string{{"Refunds take five days.", "faq.md", "[1,0,0]"}, {"Returns are free.", "faq.md", "[0,1,0]"}, {"We ship to Norway.", "shipping", "[0,0,1]"}} {
			got, err := request[string](pool, "", insert, c[0], c[1], c[2])
			require.NoError(t, err, "insert")
			require.Len(t, got, 1, "insert")
			ids = append(ids, got[0])
		}
	}
	slices.Sort(ids)
	assert.Len(t, slices.Compact(ids), 3)
	got := sourcesOf(t, store, driver.SourceQuery{})
	require.Len(t, got, 2)
	require.Equal(t, "faq.md", got[0].URI)
	require.Equal(t, 2, got[0].Chunks)
	require.EqualValues(t, 2, got[0].Revision)
	assert.Equal(t, "shipping", got[1].URI)
	m, err := memory.New(inmemory.Fill(driver.Stores{DocumentStore: store}), memory.Options{})
	assert.NoError(t, err, "new")
	base, err := knowledge.New(m, knowledge.Options{})
	assert.NoError(t, err, "new")
	found, err := base.Search(ctx, memory.Question{Text: "what is free?"}, knowledge.Filter{Neighbours: 1})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "Returns are free.", found[0].Item.Chunk.Content)
	require.Len(t, found[0].Item.Before, 1)
	assert.Equal(t, "Refunds take five days.", found[0].Item.Before[0].Content)
	c, err := store.Search(ctx, driver.ChunkSearch{Terms: []string{"return", "norway"}, Limit: 5})
	require.NoError(t, err)
	require.EqualValues(t, 3, c.Chunks)
	require.GreaterOrEqual(t, c.Terms, int64(11))
	assert.Equal(t, []int64{1, 1}, c.Frequency)
	for name, sql := range map[string]string{
		"no source":     `INSERT INTO public.knowledge_chunks (content) VALUES ('x')`,
		"long source":   `INSERT INTO public.knowledge_chunks (content, source) VALUES ('x', repeat('x', 2000))`,
		"no content":    `INSERT INTO public.knowledge_chunks (source) VALUES ('x')`,
		"odd metadata":  `INSERT INTO public.knowledge_chunks (source, content, metadata) VALUES ('x', 'x', '[]')`,
		"another place": `UPDATE public.knowledge_chunks SET source = 'other'`,
	} {
		_, err := request[string](pool, "", sql)
		assert.Error(t, err, "%s: got no error", name)
	}
}

func chunksAreMatched(t *testing.T, p place, pool, owner *pgxpool.Pool, db *pgmemory.DB) {
	ctx := context.Background()
	const id = "0197a6b0-7c1a-8e2f-8a3b-000000000001"
	ingested := driver.ChunkRecord{
		Chunk: driver.Chunk{ID: id, Content: "Shops open at nine.", Model: "m", Tokens: 5}, Terms: []string{"shop", "open", "nine"}, Embedding: []float32{0, 0.8, 0.6},
	}
	swap := func(s driver.Scope, uri string, r driver.ChunkRecord) {
		err := db.Documents().Swap(ctx, driver.SourceChange{Scope: s, Swaps: []driver.SourceSwap{{Source: driver.Source{ID: newID(), URI: uri, Format: "text"}, Chunks: []driver.ChunkRecord{r}}}})
		assert.NoError(t, err, "swap")
	}
	swap(driver.Scope{}, "hours.txt", ingested)
	swap(driver.Scope{Tenant: "acme"}, "secret.txt", ingested)
	match := func(args string) string { return `SELECT content FROM public.match_knowledge(` + args + `)` }
	for _, c := range []struct{ sql, want string }{
		{match(`'[0,1,0]', 2`), "Returns are free.|Shops open at nine."},
		{match(`query_embedding => '[0,1,0]', match_count => 1`), "Returns are free."},
		{match(`match_count => 9, query_embedding => '[0,1,0]', filter_model => 'm'`), "Shops open at nine."},
		{match(`'[0,1,0]', 9, 'acme'`), "Shops open at nine."},
		{match(`'[0,1,0]', 9, 'other'`), ""},
		{match(`'[0,1]', 9`), ""},
	} {
		got, err := request[string](pool, "", c.sql)
		require.Equal(t, c.want, strings.Join(got, "|"), c.sql)
		assert.NoError(t, err, c.sql)
	}
	for _, body := range []string{`{"query_embedding": [0, 1, 0], "match_count": 2}`, `{"match_count": 2, "query_embedding": "[0,1,0]"}`} {
		got, err := request[string](pool, "", remoteCall, body)
		require.NoError(t, err, body)
		require.Len(t, got, 2, body)
		require.True(t, strings.HasSuffix(got[0], " Returns are free. of faq.md 1.00"), body)
		assert.Equal(t, id+" Shops open at nine. of hours.txt 0.80", got[1], body)
	}
	o := p.options
	o.Pooling = pgmemory.Direct
	owned, err := pgmemory.New(ctx, owner, o)
	assert.NoError(t, err, "new")
	assert.NoError(t, owned.Index(ctx, "m", 3), "index")
	got, err := request[string](pool, "", match(`'[0,1,0]', 1, filter_model => 'm'`))
	wantTexts(t, "by the index", got, err, "Shops open at nine.")
}

func chunksAreChanged(t *testing.T, pool *pgxpool.Pool, db *pgmemory.DB) {
	ctx := context.Background()
	store := db.Documents()
	change := func(sql string, want int) {
		t.Helper()
		got, err := request[string](pool, "", sql+` RETURNING content`)
		require.Len(t, got, want, sql)
		assert.NoError(t, err, sql)
	}
	change(`UPDATE public.knowledge_chunks SET content = 'Returns cost a little.' WHERE content = 'Returns are free.'`, 1)
	change(`UPDATE public.knowledge_chunks SET content = 'Refunds take a day or two.', embedding = '[1,1,0]' WHERE source = 'faq.md' AND ordinal = 0`, 1)
	change(`DELETE FROM public.knowledge_chunks WHERE source = 'shipping'`, 1)
	c, err := store.Search(ctx, driver.ChunkSearch{Terms: []string{"return", "refund", "free"}, Limit: 9})
	require.NoError(t, err)
	require.EqualValues(t, 3, c.Chunks)
	require.GreaterOrEqual(t, c.Terms, int64(13))
	assert.Equal(t, []int64{1, 1, 0}, c.Frequency)
	vectors := map[string]int{}
	for _, r := range c.Records {
		vectors[r.Content] = len(r.Embedding)
	}
	require.Equal(t, 0, vectors["Returns cost a little."])
	assert.Equal(t, 3, vectors["Refunds take a day or two."])
	uris := []string{}
	for _, s := range sourcesOf(t, store, driver.SourceQuery{}) {
		uris = append(uris, fmt.Sprint(s.URI, " ", s.Chunks, " ", s.Revision))
	}
	wantTexts(t, "sources", uris, nil, "faq.md 2 4", "hours.txt 1 1")
	change(`DELETE FROM public.knowledge_chunks WHERE tenant_id IS NULL`, 3)
	n, err := request[int64](pool, "", `SELECT count(*) FROM public.knowledge_chunks`)
	require.NoError(t, err)
	assert.EqualValues(t, 1, n[0])
	assert.Empty(t, sourcesOf(t, store, driver.SourceQuery{}))
}

func chunksOfUsersAreApart(t *testing.T, pool *pgxpool.Pool, db *pgmemory.DB) {
	const insert = `INSERT INTO public.knowledge_chunks (content, source, embedding, user_id) VALUES ('ann''s own', 'notes', '[1,0,0]', $1)`
	_, err := request[string](pool, annID, insert, annID)
	assert.NoError(t, err, "ann writes")
	_, err = request[string](pool, bobID, insert, annID)
	assert.Error(t, err, "bob writes for ann")
	_, err = request[string](pool, bobID, `INSERT INTO public.knowledge_chunks (content, source) VALUES ('for all', 'notes')`)
	assert.Error(t, err, "bob writes for all")
	const match = `SELECT content FROM public.match_knowledge('[1,0,0]', 9, NULL)`
	got, err := request[string](pool, annID, match)
	wantTexts(t, "ann", got, err, "ann's own")
	got, err = request[string](pool, "", `SELECT content FROM public.match_knowledge('[1,0,0]', 9, filter_user_id => $1)`, annID)
	wantTexts(t, "the service, for ann", got, err, "ann's own")
	got, err = request[string](pool, "", `SELECT content FROM public.match_knowledge('[1,0,0]', 9)`)
	wantTexts(t, "the service, of documents without a user", got, err)
	for _, sql := range []string{
		match, `SELECT content FROM public.knowledge_chunks`, `UPDATE public.knowledge_chunks SET content = 'x' RETURNING content`,
		`DELETE FROM public.knowledge_chunks RETURNING content`,
	} {
		got, err := request[string](pool, bobID, sql)
		wantTexts(t, "bob: "+sql, got, err)
	}
	c, err := knownAs(t, db, annID).Search(context.Background(), driver.ChunkSearch{Query: driver.SourceQuery{Reach: driver.Scope{User: annID}.Only()}, Terms: []string{"ann"}, Limit: 5})
	require.NoError(t, err)
	assert.Len(t, c.Records, 1)
}
