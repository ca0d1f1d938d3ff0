package drivertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/weft-go/weft/memory/driver"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// kinds are the backends of this module, by their names.
var kinds = map[string]func(tb testing.TB) driver.Backend{
	"in memory": func(testing.TB) driver.Backend {
		return inmemory.New(inmemory.Options{})
	},
	"SQLite":     func(tb testing.TB) driver.Backend { return sqliteStores(tb, sqlitememory.Options{}) },
	"PostgreSQL": postgresStores,
}

func sqliteStores(tb testing.TB, o sqlitememory.Options) driver.Backend {
	tb.Helper()
	db, err := sqlitememory.Open(context.Background(), filepath.Join(tb.TempDir(), "memory.db"), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

func postgresStores(tb testing.TB) driver.Backend {
	tb.Helper()
	o := pgmemory.Options{Schema: pgtest.Schema(tb), Pooling: pgmemory.Direct}
	db, err := pgmemory.Open(context.Background(), pgtest.DirectURL(tb), o)
	require.NoError(tb, err)
	tb.Cleanup(db.Close)
	return db
}

var (
	ann = memory.Scope{Tenant: "acme", User: "ann"}
	bob = memory.Scope{Tenant: "acme", Workspace: "sales", User: "bob", Agent: "travel"}
	eve = memory.Scope{Tenant: "other", User: "eve"}
)

// letters is an embedder whose vectors count some letters.
type letters struct{}

func (letters) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		for _, letter := range []string{"a", "e", "i", "o"} {
			vectors[i] = append(vectors[i], float32(strings.Count(text, letter))+0.1)
		}
	}
	return vectors, nil
}

func (letters) Model() string { return "letters" }

func (letters) Dimension() int { return 4 }

// fill stores items of every kind, in every state.
func fill(tb testing.TB, in driver.Backend) {
	tb.Helper()
	for _, s := range []memory.Scope{ann, bob, eve} {
		fillFacts(tb, in, s)
		fillDocuments(tb, in, s)
		fillValues(tb, in, s)
		fillConversations(tb, in, s)
		fillTurns(tb, in, s)
	}
}

func fillFacts(tb testing.TB, in driver.Backend, s memory.Scope) {
	tb.Helper()
	ctx := context.Background()
	m, err := memory.New(in, memory.Options{Embedder: letters{}})
	require.NoError(tb, err)
	soon := time.Now().Add(time.Hour)
	stored, err := m.Store(ctx, s,
		memory.Fact{Kind: memory.Preference, Content: "likes tea", Metadata: json.RawMessage(`{"n": 1.50, "text":"a\nb"}`), Importance: 0.9, Trust: memory.Stated},
		memory.Fact{Content: "lives in Athens", Conversation: "c1", Turn: 3, Trust: memory.Stated},
		memory.Fact{Content: "is told to be deleted", Trust: memory.Stated},
		memory.Fact{Content: "expires soon ☕", ExpiresAt: soon, Trust: memory.Untrusted},
	)
	require.NoError(tb, err)
	_, err = m.Supersede(ctx, s, memory.Fact{Content: "lives in Oslo", Trust: memory.Stated}, stored[1].ID)
	require.NoError(tb, err)
	_, err = m.Supersede(ctx, s, memory.Fact{Content: "always liked coffee", ValidFrom: time.Now().Add(-time.Hour), Trust: memory.Stated}, stored[0].ID)
	require.NoError(tb, err)
	require.NoError(tb, m.Delete(ctx, s, stored[2].ID))
	plain, err := memory.New(in, memory.Options{})
	require.NoError(tb, err)
	_, err = plain.Store(ctx, s, memory.Fact{Content: "has no vector", Trust: memory.Stated})
	require.NoError(tb, err)
}

func fillDocuments(tb testing.TB, in driver.Backend, s memory.Scope) {
	tb.Helper()
	m, err := memory.New(in, memory.Options{})
	require.NoError(tb, err)
	base, err := knowledge.New(m, knowledge.Options{Embedder: letters{}})
	require.NoError(tb, err)
	text := "# Title\n\nAn introduction.\n\n## Part\n\n" + strings.Repeat("A sentence about tea. ", 400)
	files := fstest.MapFS{"a.md": {Data: []byte(text)}, "b.txt": {Data: []byte("short")}, "empty.txt": {Data: []byte(" ")}}
	for range 2 { // the second time, one source has changed
		for _, err := range base.Ingest(context.Background(), s, knowledge.Folder(files, knowledge.FolderOptions{Version: "v1"}), knowledge.IngestOptions{}) {
			require.NoError(tb, err)
		}
		files["b.txt"] = &fstest.MapFile{Data: []byte("short, and changed")}
	}
}

func fillValues(tb testing.TB, in driver.Backend, s memory.Scope) {
	tb.Helper()
	ctx := context.Background()
	m, err := memory.New(in, memory.Options{Embedder: letters{}, Values: memory.ValueOptions{Index: [][]string{{}}}})
	require.NoError(tb, err)
	values := m.Values()
	n := values.In(s, "settings", "a.b_%")
	for key, value := range map[string]string{"one": `{"b":2, "a":[1e2,"x"]}`, "two": `"text"`, "null": `null`} {
		_, err := n.Put(ctx, key, json.RawMessage(value), memory.PutOptions{})
		require.NoError(tb, err)
	}
	_, err = n.Put(ctx, "fixed", json.RawMessage(`1`), memory.PutOptions{TTL: time.Hour, NoIndex: true})
	require.NoError(tb, err)
	_, err = n.In("deeper").Put(ctx, "sliding", json.RawMessage(`2`), memory.PutOptions{TTL: time.Hour, Sliding: true})
	require.NoError(tb, err)
	_, err = n.Put(ctx, "gone", json.RawMessage(`3`), memory.PutOptions{})
	require.NoError(tb, err)
	require.NoError(tb, n.Delete(ctx, "gone", 0))
}

func fillConversations(tb testing.TB, in driver.Backend, s memory.Scope) {
	tb.Helper()
	ctx := context.Background()
	m, err := memory.New(in, memory.Options{})
	require.NoError(tb, err)
	h := m.Conversations()
	_, err = h.Append(ctx, s, memory.Turn{Session: "empty"})
	require.NoError(tb, err)
	session, err := h.Append(ctx, s, memory.Turn{Session: "talk", Messages: []llm.Message{
		llm.User("Where is my order?"),
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "find", Arguments: json.RawMessage(`{"id":7}`)}}},
		{Role: llm.RoleTool, ToolCallID: "c1", Parts: []llm.Part{{Type: llm.PartText, Text: "in\x00transit"}}},
		llm.Assistant("It is on its way."),
	}})
	require.NoError(tb, err)
	session.Title, session.Metadata = "An order", json.RawMessage(`{"open": true}`)
	_, err = h.Update(ctx, s, session)
	require.NoError(tb, err)
	_, err = h.FromLangChain(ctx, s, "foreign", json.RawMessage(`[{"type":"human","data":{"content":"hello"}},{"type":"hologram","data":{"content":"?"}}]`))
	require.NoError(tb, err)
	var many []llm.Message
	for i := range 600 {
		many = append(many, llm.User(fmt.Sprintf("message number %d", i)))
	}
	_, err = h.Append(ctx, s, memory.Turn{Session: "long", Messages: many})
	require.NoError(tb, err)
}

func fillTurns(tb testing.TB, in driver.Backend, s memory.Scope) {
	tb.Helper()
	ctx := context.Background()
	for _, key := range []string{"parked", "done", "waiting"} {
		j := extract.Job{Key: key, Scope: s, Payload: json.RawMessage(`{"user":"hello"}`), Said: time.Now().UTC().Truncate(time.Microsecond)}
		require.NoError(tb, in.Turns().Enqueue(ctx, j))
		if key == "waiting" {
			continue
		}
		jobs, err := in.Turns().Claim(ctx, 10, time.Hour)
		require.NoError(tb, err)
		for _, j := range jobs {
			if j.Key == "done" {
				require.NoError(tb, in.Turns().Finish(ctx, j))
			} else if j.Key == "parked" {
				require.NoError(tb, in.Turns().Retry(ctx, j, -1, "it failed"))
			}
		}
	}
}

// export returns the export of a memory, with the counts.
func export(tb testing.TB, from driver.Backend, o memory.TransferOptions) (string, memory.Counts) {
	tb.Helper()
	var b bytes.Buffer
	counts, err := in(tb, from).Export(context.Background(), &b, o)
	require.NoError(tb, err)
	return b.String(), counts
}

// in returns the memory of a backend.
func in(tb testing.TB, b driver.Backend) *memory.Memory {
	tb.Helper()
	m, err := memory.New(b, memory.Options{})
	require.NoError(tb, err)
	return m
}
