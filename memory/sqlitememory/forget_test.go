package sqlitememory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// After a user is forgotten, no file has any byte of the user's facts, even of changed, superseded,
// deleted, expired and rejected ones.
func TestForgetLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path, sqlitememory.Options{})
	m, err := memory.New(db, memory.Options{Embedder: wordEmbedder{}})
	require.NoError(t, err)
	var markers []string
	marker := func() string {
		markers = append(markers, fmt.Sprintf("marker%02dzqxj%02d", len(markers), len(markers)*7))
		return markers[len(markers)-1]
	}
	gone := driver.Scope{Tenant: "acme", Workspace: marker(), User: marker(), Agent: marker()}
	fact := func() driver.Fact {
		return driver.Fact{
			Content: "She lives in " + marker(), Conversation: marker(),
			Metadata: json.RawMessage(`{"` + marker() + `":"` + marker() + `"}`), Trust: driver.Stated,
		}
	}
	noise(t, m, 200)
	var ids []string
	for range 2 {
		stored, err := m.Store(ctx, gone, fact())
		require.NoError(t, err)
		ids = append(ids, stored[0].ID)
		noise(t, m, 50)
	}
	changed := fact()
	require.NoError(t, m.Update(ctx, gone, ids[0], memory.Edit{Content: changed.Content, Metadata: changed.Metadata}))
	_, err = m.Supersede(ctx, gone, driver.Fact{Content: "She moved to " + marker(), Trust: driver.Stated}, ids[0])
	require.NoError(t, err)
	_, err = m.Apply(ctx, gone, driver.FactChange{Kind: driver.Delete, Record: driver.FactRecord{Fact: driver.Fact{ID: ids[1]}}, Actor: marker(), Job: marker()})
	require.NoError(t, err)
	stored, err := m.Store(ctx, gone, driver.Fact{Content: "For today: " + marker(), ExpiresAt: time.Now().Add(-time.Hour), Trust: driver.Stated}, driver.Fact{Content: strings.Repeat(marker()+" ", 700), Trust: driver.Stated})
	require.NoError(t, err)
	_, err = m.Sweep(ctx)
	require.NoError(t, err)
	noise(t, m, 200)
	require.GreaterOrEqual(t, len(markers), 20)
	require.GreaterOrEqual(t, len(leftovers(t, path, markers)), len(markers)-1, "only the agent's marker may be missing")

	n, err := m.Forget(ctx, driver.Scope{Tenant: "acme", User: gone.User})
	require.NoError(t, err)
	require.Equal(t, 3, n.Facts)
	assert.Empty(t, leftovers(t, path, markers))
	for _, id := range append(ids, stored[0].ID) {
		assert.Empty(t, leftovers(t, path, []string{id, string(packed(id))}), "got the id %s in the files", id)
	}
	require.NoError(t, db.Close())
	assert.Empty(t, leftovers(t, path, markers), "closed")
	checkIndex(t, path)
}

// noise stores facts of other users between the facts to forget.
func noise(t *testing.T, m *memory.Memory, n int) {
	t.Helper()
	facts := make([]driver.Fact, n)
	for i := range facts {
		facts[i].Trust = driver.Stated
		facts[i].Content = fmt.Sprintf("Somebody else likes number %d, said at %d", i, time.Now().UnixNano())
		if i%5 == 0 {
			facts[i].Content += strings.Repeat(" and so on", i*3)
		}
	}
	_, err := m.Store(context.Background(), driver.Scope{Tenant: "acme", User: "else"}, facts...)
	require.NoError(t, err)
}

func packed(id string) []byte {
	var b []byte
	_, _ = fmt.Sscanf(strings.ReplaceAll(id, "-", ""), "%x", &b)
	return b
}

// leftovers returns the markers that the database's files contain. Another process reads the files,
// since closing a file in this process would release SQLite's locks.
func leftovers(t *testing.T, path string, texts []string) (found []string) {
	t.Helper()
	var all []byte
	for _, suffix := range []string{"", "-wal", "-journal"} {
		copied := filepath.Join(t.TempDir(), "copy")
		if !copyFile(t, path+suffix, copied) {
			continue
		}
		b, err := os.ReadFile(copied)
		require.NoError(t, err)
		all = append(all, b...)
	}
	for _, text := range texts {
		if bytes.Contains(all, []byte(text)) || bytes.Contains(bytes.ToLower(all), bytes.ToLower([]byte(text))) {
			found = append(found, text)
		}
	}
	return found
}

// If a reader does not end, removed data stays in the write-ahead log, and Forget returns ErrInUse.
func TestForgetWhileSomebodyReads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "memory.db")
	store := open(t, path, sqlitememory.Options{BusyTimeout: -1}).Facts()
	add(t, store, ann, "a secret")
	raw := rawDB(t, path)
	tx, err := raw.Begin()
	require.NoError(t, err)
	var n int
	require.NoError(t, tx.QueryRow(`SELECT count(*) FROM mem_fact`).Scan(&n))
	n, err = store.Forget(ctx, ann)
	require.ErrorIs(t, err, sqlitememory.ErrInUse)
	assert.Equal(t, 1, n)
	assert.Empty(t, find(t, store, everything(ann)))
	require.NoError(t, tx.Rollback())
	n, err = store.Forget(ctx, ann)
	require.NoError(t, err, "again")
	assert.Equal(t, 0, n, "again")
	assert.Empty(t, leftovers(t, path, []string{"a secret"}))
}
