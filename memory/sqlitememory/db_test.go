package sqlitememory_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

var (
	ann = driver.Scope{Tenant: "acme", User: "ann"}
	bob = driver.Scope{Tenant: "acme", User: "bob"}
)

func everything(s driver.Scope) driver.FactQuery {
	return driver.FactQuery{Reach: s.Only(), Closed: true, Untrusted: true, Limit: -1}
}

func find(t *testing.T, store driver.FactStore, q driver.FactQuery) []driver.FactRecord {
	t.Helper()
	var list []driver.FactRecord
	for r, err := range store.Find(context.Background(), q) {
		require.NoError(t, err)
		list = append(list, r)
	}
	return list
}

// add stores a fact directly in the store.
func add(t *testing.T, store driver.FactStore, s driver.Scope, content string, mods ...func(*driver.FactRecord)) string {
	t.Helper()
	r := driver.FactRecord{Fact: driver.Fact{Kind: driver.Plain, Content: content, Importance: 0.5, Trust: driver.Stated}, Terms: strings.Fields(content)}
	sum := sha256.Sum256([]byte(content))
	r.Key = [16]byte(sum[:16])
	for _, mod := range mods {
		mod(&r)
	}
	applied, err := store.Apply(context.Background(), s, []driver.FactChange{{Kind: driver.Add, Record: r}})
	require.NoError(t, err)
	return applied[0].ID
}

// wordEmbedder computes vectors from the digests of words.
type wordEmbedder struct{}

func (wordEmbedder) Model() string { return "words" }

func (wordEmbedder) Dimension() int { return 32 }

func (wordEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 32)
		for _, word := range strings.Fields(strings.ToLower(text)) {
			for j, b := range sha256.Sum256([]byte(word)) {
				vectors[i][j] += float32(b) - 127.5
			}
		}
	}
	return vectors, nil
}

// rawDB opens a database with package database/sql.
func rawDB(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(60000)")
	require.NoError(tb, err)
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// checkIndex runs SQLite's checks of the file and of its full-text indexes.
func checkIndex(t *testing.T, path string) {
	t.Helper()
	db := rawDB(t, path)
	var answer string
	require.NoError(t, db.QueryRow(`PRAGMA integrity_check`).Scan(&answer))
	assert.Equal(t, "ok", answer, "integrity")
	for table, index := range map[string]string{"mem_fact": "mem_word", "mem_message": "mem_message_word", "mem_value": "mem_value_word", "mem_chunk": "mem_chunk_word"} {
		_, err := db.Exec(`INSERT INTO ` + index + ` (` + index + `) VALUES ('integrity-check')`)
		require.NoError(t, err)
		var rows, words int
		require.NoError(t, db.QueryRow(`SELECT (SELECT count(*) FROM `+table+` WHERE words > 0), (SELECT count(*) FROM `+index+`_docsize)`).Scan(&rows, &words))
		assert.Equal(t, words, rows, table)
	}
}

// copyFile copies a file in another process. It returns false if the file does not exist.
func copyFile(t *testing.T, from, to string) bool {
	t.Helper()
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	out, err := exec.Command("cp", from, to).CombinedOutput()
	require.NoError(t, err, "cp: %v: %s", err, out)
	return true
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600))
	newer := filepath.Join(folder, "newer.db")
	require.NoError(t, open(t, newer, options).Close())
	_, err := rawDB(t, newer).Exec(`INSERT INTO mem_migration VALUES (1000, 'later', '', 0)`)
	require.NoError(t, err)
	tests := []struct {
		name, path string
		o          sqlitememory.Options
		want       error
		says       string
	}{
		{name: "a folder", path: folder, want: driver.ErrInvalid, says: "not a regular file"},
		{name: "no folder", path: filepath.Join(folder, "none", "memory.db"), want: fs.ErrNotExist, says: "the folder of the file"},
		{name: "a text", path: text, want: sqlitememory.ErrFormat, says: "not a database"},
		{name: "a newer version", path: newer, want: sqlitememory.ErrFormat, says: "version 1000"},
		{name: "no path", want: driver.ErrInvalid, says: "empty path"},
		{name: "unknown Synchronous", path: sqlitememory.Memory, o: sqlitememory.Options{Synchronous: 7}, want: driver.ErrInvalid, says: "Synchronous(7)"},
		{name: "negative MaxFacts", path: sqlitememory.Memory, o: sqlitememory.Options{MaxFacts: -1}, want: driver.ErrInvalid, says: "MaxFacts"},
		{name: "a MaxSize too small for its tables", path: filepath.Join(folder, "c.db"), o: sqlitememory.Options{MaxSize: 8192}, want: sqlitememory.ErrFull, says: "full"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db, err := sqlitememory.Open(context.Background(), tt.path, tt.o)
			if err == nil {
				_ = db.Close()
			}
			require.ErrorIs(t, err, tt.want)
			require.ErrorContains(t, err, tt.says)
			assert.ErrorContains(t, err, tt.path)
		})
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path, options)
	add(t, db.Facts(), ann, "stays there")
	require.NoError(t, db.Close())
	require.NoError(t, db.Close())
	for _, err := range db.Facts().Find(context.Background(), everything(ann)) {
		assert.ErrorIs(t, err, fs.ErrClosed, "closed")
	}
	store := open(t, path, options).Facts()
	got := find(t, store, everything(ann))
	require.Len(t, got, 1)
	assert.Equal(t, "stays there", got[0].Content)
	c, err := store.Search(context.Background(), driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"stays"}, Limit: 1})
	require.NoError(t, err)
	assert.Len(t, c.Records, 1)
}

func TestMaxFacts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sqlite := open(t, sqlitememory.Memory, sqlitememory.Options{MaxFacts: 3}).Facts()
	for name, store := range map[string]driver.FactStore{"sqlite": sqlite, "in memory": inmemory.NewFacts(inmemory.Options{MaxFacts: 3})} {
		m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
		require.NoError(t, err)
		stored, err := m.Store(ctx, ann, driver.Fact{Content: "one", Trust: driver.Stated}, driver.Fact{Content: "two", Trust: driver.Stated}, driver.Fact{Content: "three", Trust: driver.Stated})
		require.NoError(t, err)
		_, err = m.Store(ctx, ann, driver.Fact{Content: "four", Trust: driver.Stated})
		assert.ErrorIs(t, err, driver.ErrQuota, name)
		_, err = m.Store(ctx, ann, driver.Fact{Content: "one.", Trust: driver.Stated}) // the fact exists already
		require.NoError(t, err)
		_, err = m.Store(ctx, driver.Scope{Tenant: "acme", User: "bob"}, driver.Fact{Content: "four", Trust: driver.Stated})
		require.NoError(t, err)
		_, err = m.Supersede(ctx, ann, driver.Fact{Content: "four", Trust: driver.Stated}, stored[0].ID)
		require.NoError(t, err)
		got := len(find(t, store, driver.FactQuery{Reach: ann.Only()}))
		assert.Equal(t, 3, got, name)
		_, err = m.Apply(ctx, ann, driver.FactChange{Kind: driver.Add, Record: driver.FactRecord{Fact: driver.Fact{Content: "five", Trust: driver.Stated}}},
			driver.FactChange{Kind: driver.Close, Record: driver.FactRecord{Fact: driver.Fact{ID: stored[1].ID}}})
		require.NoError(t, err)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "memory.db"), sqlitememory.Options{MaxSize: 400_000}).Facts()
	var err error
	stored := 0
	for err == nil && stored < 1000 {
		r := driver.FactRecord{Fact: driver.Fact{Kind: driver.Plain, Content: strings.Repeat("x", 16_000), Trust: driver.Stated}, Key: [16]byte{byte(stored), byte(stored >> 8)}}
		if _, err = store.Apply(context.Background(), ann, []driver.FactChange{{Kind: driver.Add, Record: r}}); err == nil {
			stored++
		}
	}
	require.ErrorIs(t, err, sqlitememory.ErrFull)
	assert.Equal(t, stored, len(find(t, store, everything(ann))))
}

// A search returns an error for a damaged row, and never another fact.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	for column, damage := range map[string]string{
		"content": `content = 'another content'`, "metadata": `metadata = '{"a":2}'`, "no metadata": `metadata = NULL`,
		"terms": `terms = x'056f74686572'`, "cut terms": `terms = x'7f00'`, "vector": `embedding = x'0000803f00000040'`, "cut vector": `embedding = x'00'`,
		"no vector": `embedding = NULL`, "id": `id = x'00112233445566778899aabbccddeeff'`, "short id": `id = x'0011'`, "trust": `trust = 9`,
		"words": `words = 7`, "dimension": `dimension = 3`, "digest": `digest = x'00'`, "checksum": `checksum = 1`,
	} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "memory.db")
			store := open(t, path, options).Facts()
			id := add(t, store, ann, "some content", func(r *driver.FactRecord) {
				r.Metadata, r.Model, r.Embedding = json.RawMessage(`{"a":1}`), "m", []float32{1, 3}
			})
			_, err := rawDB(t, path).Exec(`UPDATE mem_fact SET ` + damage)
			require.NoError(t, err)
			var findErr error
			for _, err := range store.Find(context.Background(), everything(ann)) {
				findErr = err
				assert.Error(t, err, "find")
			}
			assert.ErrorIs(t, findErr, sqlitememory.ErrCorrupt, "find")
			_, err = store.Search(context.Background(), driver.FactSearch{
				Query: everything(ann), Terms: []string{"content"}, Embedding: []float32{1, 1}, Model: "m", Limit: 5,
			})
			assert.ErrorIs(t, err, sqlitememory.ErrCorrupt, "search")
			if column == "id" || column == "short id" {
				return // no fact has the id any more
			}
			_, err = store.Apply(context.Background(), ann, []driver.FactChange{{Kind: driver.Close, Record: driver.FactRecord{Fact: driver.Fact{ID: id}}}})
			assert.ErrorIs(t, err, sqlitememory.ErrCorrupt, "close")
		})
	}
}

// A search finds the same facts with and without the full-text index, for any number of words and
// scopes.
func TestManyWords(t *testing.T) {
	t.Parallel()
	store := open(t, sqlitememory.Memory, options).Facts()
	var terms []string
	for i := range 64 {
		terms = append(terms, fmt.Sprint("word", i))
	}
	for i := range 40 {
		s := driver.Scope{Tenant: "acme", User: fmt.Sprint(i / 8), Agent: fmt.Sprint(i % 8)}
		for j := range 5 {
			add(t, store, s, fmt.Sprintf("word%d word%d and of %d", (i*5+j)%70, j, i))
		}
	}
	for _, q := range []driver.FactQuery{
		{Reach: driver.Scope{Tenant: "acme", User: "1", Agent: "1"}.Only()},
		{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme", User: "1"}, AnyAgent: true}},
		{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true, AnyAgent: true}},
	} {
		var want, words int64
		q.Limit = -1
		for _, r := range find(t, store, q) {
			words += int64(len(r.Terms))
			if slices.ContainsFunc(r.Terms, func(term string) bool { return slices.Contains(terms, term) }) {
				want++
			}
		}
		for n, limit := range map[int]int{1: 1, 64: 1000} {
			c, err := store.Search(context.Background(), driver.FactSearch{Query: q, Terms: terms[:n], Limit: limit})
			require.NoError(t, err)
			require.Equal(t, words, c.Terms, "%+v, %d words", q, n)
			require.False(t, n == 64 && int64(len(c.Records)) != want, "%+v, %d words: got %d candidates, %d words in all want %d, %d", q, n, len(c.Records), c.Terms, want, words)
			assert.False(t, n == 1 && len(c.Records) != 1, "%+v, %d words: got %d candidates, %d words in all want %d, %d", q, n, len(c.Records), c.Terms, want, words)
		}
	}
}

// The queries for pages use the indexes that exist for them.
func TestPlans(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	store := open(t, path, options).Facts()
	add(t, store, ann, "one")
	db := rawDB(t, path)
	for query, want := range map[string]string{
		`SELECT f.key, NULL FROM mem_fact f WHERE f.scope = 1 AND f.trust < 2 AND f.valid_from <= 5 AND (f.valid_to IS NULL OR f.valid_to > 5)
			ORDER BY f.created_at DESC, f.id DESC LIMIT 20`: "COVERING INDEX mem_fact_new",
		`SELECT f.content FROM mem_fact f WHERE f.scope = 1 AND f.digest = x'00' AND f.id <> x'00'`:   "INDEX mem_fact_digest (scope=? AND digest=?)",
		`SELECT key FROM mem_fact WHERE expires_at <= 5 ORDER BY expires_at LIMIT 5`:                  "INDEX mem_fact_expires",
		`SELECT key FROM mem_event WHERE scope = 1 AND fact = x'00' AND key > 0 ORDER BY key LIMIT 5`: "INDEX mem_event_fact",
		`SELECT f.key, f.title FROM mem_session f JOIN mem_talk_scope c ON c.key = f.scope WHERE f.scope = 1 AND (f.updated_at, f.id, c.tenant) < (5, 'a', 'b')
			ORDER BY f.updated_at DESC, f.id DESC LIMIT 20`: "INDEX mem_session_new (scope=? AND (updated_at,id)<(?,?))",
		`SELECT f.key, 1, f.words FROM mem_message f WHERE f.session IN (SELECT f.key FROM mem_session f WHERE f.scope = 1) AND f.role IN (SELECT value FROM json_each('[]'))
			AND f.at >= 5`: "COVERING INDEX mem_message_place",
		`SELECT f.text FROM mem_message f WHERE f.session = 1 AND f.position >= 2 AND f.position <= 9 ORDER BY f.position LIMIT 9`: "INDEX mem_message_place (session=? AND position>? AND position<?)",
		`SELECT f.value FROM mem_value f WHERE f.scope = 1 AND f.address >= x'00' AND f.address < x'01' AND (f.expires_at IS NULL OR f.expires_at > 5)
			AND f.address > x'00' ORDER BY f.address LIMIT 9`: "INDEX mem_value_address (scope=? AND address>? AND address<?)",
		`SELECT f.value FROM mem_value f WHERE f.scope = 1 AND (f.updated_at, f.address) < (5, x'00') ORDER BY f.updated_at DESC, f.address DESC LIMIT 9`:             "INDEX mem_value_new (scope=? AND (updated_at,address)<(?,?))",
		`SELECT f.address FROM mem_value f WHERE f.scope = 1 AND f.address >= x'00' AND (f.expires_at IS NULL OR f.expires_at > 5) ORDER BY f.address LIMIT 1`:        "COVERING INDEX mem_value_address",
		`SELECT f.title FROM mem_source f JOIN mem_source_scope c ON c.key = f.scope WHERE f.scope = 1 AND (f.uri, f.id) > ('a', x'00') ORDER BY f.uri, f.id LIMIT 9`: "INDEX mem_source_uri (scope=? AND uri>?)",
		`SELECT f.title FROM mem_source f WHERE f.scope = 1 AND f.uri IN (SELECT value FROM json_each('[]')) ORDER BY f.uri, f.id LIMIT 9`:                            "INDEX mem_source_uri (scope=? AND uri=?)",
		`SELECT f.key, 1, f.words FROM mem_chunk f WHERE f.source IN (SELECT f.key FROM mem_source f WHERE f.scope = 1)`:                                              "COVERING INDEX mem_chunk_place",
		`SELECT f.content FROM mem_chunk f WHERE f.source = 1 AND f.ordinal >= 2 AND f.ordinal < 9 ORDER BY f.ordinal LIMIT 9`:                                        "INDEX mem_chunk_place (source=? AND ordinal>? AND ordinal<?)",
	} {
		rows, err := db.Query(`EXPLAIN QUERY PLAN ` + query)
		require.NoError(t, err)
		var plan bytes.Buffer
		for rows.Next() {
			var a, b, c int
			var text string
			require.NoError(t, rows.Scan(&a, &b, &c, &text))
			plan.WriteString(text + "\n")
		}
		require.NoError(t, rows.Close())
		require.Contains(t, plan.String(), want, query)
		assert.NotContains(t, plan.String(), "TEMP B-TREE", query)
	}
}
