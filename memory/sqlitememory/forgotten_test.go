package sqlitememory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// markers are words that occur nowhere else, so that a test can search for them in files.
type markers struct {
	kind string
	list []string
}

func (m *markers) next() string {
	m.list = append(m.list, fmt.Sprintf("%smarker%02dzqxj%02d", m.kind, len(m.list), len(m.list)*7))
	return m.list[len(m.list)-1]
}

// fillTalks appends messages to sessions of a scope, and changes and deletes some.
func fillTalks(t *testing.T, history *memory.Conversations, s driver.Scope, word func() string) {
	t.Helper()
	ctx := context.Background()
	say := func() []llm.Message {
		return []llm.Message{
			{ID: word(), Role: llm.RoleUser, Parts: []llm.Part{{Type: llm.PartText, Text: "What is " + word() + "?"}}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{{Type: llm.PartText, Text: strings.Repeat(word()+" ", 400)}}},
		}
	}
	for range 2 {
		id := word()
		_, err := history.Append(ctx, s, memory.Turn{Session: id, Messages: say()})
		require.NoError(t, err)
		_, err = history.Update(ctx, s, driver.Session{ID: id, Title: word(), Metadata: json.RawMessage(`{"` + word() + `":1}`)})
		require.NoError(t, err)
		_, err = history.Update(ctx, s, driver.Session{ID: id, Title: word()})
		require.NoError(t, err)
	}
	id := word()
	_, err := history.Append(ctx, s, memory.Turn{Session: id, Messages: say()})
	require.NoError(t, err)
	require.NoError(t, history.Delete(ctx, s, id))
}

func fillValues(t *testing.T, values *memory.Values, s driver.Scope, word func() string) {
	t.Helper()
	ctx := context.Background()
	for i := range 2 {
		n, key := values.In(s, word(), word()), word()
		for range 2 {
			_, err := memory.PutValue(ctx, n, key, map[string]string{word(): strings.Repeat(word()+" ", 1+i*400)}, memory.PutOptions{TTL: time.Hour})
			require.NoError(t, err)
		}
		_, err := memory.PutValue(ctx, n, word(), word(), memory.PutOptions{TTL: time.Microsecond})
		require.NoError(t, err)
		_, err = memory.PutValue(ctx, n, "gone", word(), memory.PutOptions{})
		require.NoError(t, err)
		require.NoError(t, n.Delete(ctx, "gone", 0))
	}
}

func fillKnowledge(t *testing.T, base *knowledge.Base, s driver.Scope, word func() string) {
	t.Helper()
	for range 2 {
		d := knowledge.Document{URI: word() + ".md", Title: word(), Version: word(), Metadata: json.RawMessage(`{"` + word() + `":1}`)}
		for range 2 {
			d.Text = "# " + word() + "\n\nText of " + word() + ".\n\n## " + word() + "\n\n" + strings.Repeat(word()+" ", 400)
			_, troubles, err := knowledge.Collect(base.Ingest(context.Background(), s, knowledge.Documents(d), knowledge.IngestOptions{Stop: true}))
			require.NoError(t, err)
			require.Empty(t, troubles)
		}
	}
}

// After a user is forgotten in one store, no file has any byte of the removed data. The user's
// data in other stores, and the data of other users, are unchanged.
func TestForgetLeavesNothingElsewhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	gone := driver.Scope{Tenant: "acme", Workspace: "w", User: "gone", Agent: "a"}
	stays := driver.Scope{Tenant: "acme", Workspace: "w", User: "stays"}
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path, options)
	m, err := memory.New(db, memory.Options{Embedder: wordEmbedder{}, Values: memory.ValueOptions{Index: [][]string{{}}}})
	require.NoError(t, err)
	history, values := m.Conversations(), m.Values()
	base, err := knowledge.New(m, knowledge.Options{})
	require.NoError(t, err)
	everywhere := driver.SourceQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme", User: "gone"}, AnyWorkspace: true, AnyAgent: true}}
	kinds := []struct {
		name   string
		fill   func(s driver.Scope, word func() string)
		forget func(s driver.Scope) (int, error)
		want   int
	}{
		{"conversations", func(s driver.Scope, word func() string) { fillTalks(t, history, s, word) }, func(s driver.Scope) (int, error) { return history.Forget(ctx, s) }, 2},
		{"values", func(s driver.Scope, word func() string) { fillValues(t, values, s, word) }, func(s driver.Scope) (int, error) { return values.Forget(ctx, s) }, 4},
		{"knowledge", func(s driver.Scope, word func() string) { fillKnowledge(t, base, s, word) }, func(driver.Scope) (int, error) { return base.Delete(ctx, everywhere) }, 2},
	}
	words := make([]markers, len(kinds))
	others := 0
	for i, kind := range kinds {
		words[i].kind = kind.name
		kind.fill(gone, words[i].next)
		kind.fill(stays, func() string { others++; return fmt.Sprint("other", others) })
		kind.fill(gone, words[i].next)
	}
	for i, kind := range kinds {
		n, err := kind.forget(driver.Scope{Tenant: "acme", User: "gone"})
		require.Equal(t, 2*kind.want, n, "%s: forgot %d, error %v want %d", kind.name, n, err, 2*kind.want)
		assert.NoError(t, err, "%s: forgot %d, error %v want %d", kind.name, n, err, 2*kind.want)
		assert.Empty(t, leftovers(t, path, words[i].list), kind.name)
		for j := i + 1; j < len(kinds); j++ {
			assert.Len(t, leftovers(t, path, words[j].list[:1]), 1, "%s: forgotten with %s", kinds[j].name, kind.name)
		}
		n, err = kind.forget(driver.Scope{Tenant: "acme", User: "gone"})
		require.Equal(t, 0, n, "%s, again: forgot %d, error %v want 0", kind.name, n, err)
		assert.NoError(t, err, "%s, again: forgot %d, error %v want 0", kind.name, n, err)
	}
	assert.Empty(t, leftovers(t, path, []string{"gone"}), "got the name of the user in the files")
	checkIndex(t, path)
	for i, kind := range kinds[:2] {
		n, err := kind.forget(stays)
		require.Equal(t, kind.want, n, "%s: %d of another user are left, error %v want %d", kinds[i].name, n, err, kind.want)
		assert.NoError(t, err, "%s: %d of another user are left, error %v want %d", kinds[i].name, n, err, kind.want)
	}
	n, err := base.Delete(ctx, driver.SourceQuery{Reach: stays.Only()})
	require.Equal(t, 2, n, "knowledge")
	assert.NoError(t, err, "knowledge")
}

// Forget of one store does not affect other stores. After Forget of facts, older messages can
// still be appended to conversations; after Forget of conversations they cannot.
func TestForgetOneKind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := open(t, sqlitememory.Memory, options)
	m, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	history := m.Conversations()
	began := time.Now()
	turn := memory.Turn{Session: "s", Messages: []llm.Message{llm.User("hello")}, Began: began}
	_, err = history.Append(ctx, ann, turn)
	require.NoError(t, err)
	add(t, db.Facts(), ann, "a fact")
	_, err = db.Facts().Forget(ctx, ann)
	require.NoError(t, err)
	found, err := history.Search(ctx, memory.Question{Reach: ann.Only(), Text: "hello"})
	require.NoError(t, err)
	assert.Len(t, found, 1)
	_, err = history.Append(ctx, ann, turn)
	require.NoError(t, err)
	_, err = history.Forget(ctx, ann)
	require.NoError(t, err)
	_, err = history.Append(ctx, ann, turn)
	assert.ErrorIs(t, err, driver.ErrForgotten)
	add(t, db.Facts(), ann, "a fact")
}
