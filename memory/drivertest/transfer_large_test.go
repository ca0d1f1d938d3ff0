package drivertest_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// The size of the large memory. With chunks and messages it has 500,000 rows.
const (
	largeFacts         = 100_000
	largeDocuments     = 10_000
	chunksEach         = 29
	largeConversations = 1_000
	messagesEach       = 100
	largeDimension     = 32
)

// A large memory is copied from SQLite to PostgreSQL and back, and is unchanged. The process needs less
// than 200 MB. The test takes some minutes, so it runs only if an environment variable is set: see make
// transfer.
func TestLargeMemoryGoesToPostgreSQLAndBack(t *testing.T) {
	if os.Getenv("WEFT_TRANSFER") == "" {
		t.Skip("it takes some minutes: make transfer runs it")
	}
	folder := t.TempDir()
	o := sqlitememory.Options{Synchronous: sqlitememory.Normal}
	first, second, third := sqliteStores(t, o), kinds["PostgreSQL"](t), sqliteStores(t, o)
	timed(t, "fill SQLite", func() { fillLarge(t, first) })

	files := []string{filepath.Join(folder, "1"), filepath.Join(folder, "2"), filepath.Join(folder, "3")}
	timed(t, "export from SQLite", func() { exportFile(t, first, files[0]) })
	timed(t, "import into PostgreSQL", func() { importFile(t, second, files[0]) })
	timed(t, "export from PostgreSQL", func() { exportFile(t, second, files[1]) })
	timed(t, "import into SQLite", func() { importFile(t, third, files[1]) })
	timed(t, "export from SQLite", func() { exportFile(t, third, files[2]) })

	want := digestOf(t, files[0])
	assert.Equal(t, want, digestOf(t, files[1]), "what PostgreSQL has is not what SQLite had")
	assert.Equal(t, want, digestOf(t, files[2]), "what came back is not what went")
	peak := peakMemory(t)
	t.Logf("%d MB of memory at most", peak>>20)
	assert.Less(t, peak, int64(200<<20))
}

func timed(t *testing.T, what string, fn func()) {
	t.Helper()
	begin := time.Now()
	fn()
	t.Logf("%s: %v", what, time.Since(begin).Round(time.Second/10))
}

func exportFile(t *testing.T, from driver.Backend, path string) {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	counts, err := in(t, from).Export(context.Background(), f, memory.TransferOptions{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, memory.Counts{Facts: largeFacts, Documents: largeDocuments, Conversations: largeConversations}, counts)
}

func importFile(t *testing.T, to driver.Backend, path string) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	counts, err := in(t, to).Import(context.Background(), bufio.NewReader(f), memory.TransferOptions{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, largeFacts+largeDocuments+largeConversations, counts.Total())
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return fmt.Sprintf("%x", sum.Sum(nil))
}

var peakPattern = regexp.MustCompile(`VmHWM:\s*(\d+) kB`)

// peakMemory returns the maximum memory of the process, in bytes.
func peakMemory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err, "the memory of a process is measured on Linux alone")
	found := peakPattern.FindSubmatch(status)
	require.NotNil(t, found)
	kilobytes, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	return kilobytes << 10
}

// fillLarge stores many facts of a thousand users, documents and conversations.
func fillLarge(t *testing.T, in driver.Backend) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	now := time.Now().UTC().Truncate(time.Microsecond)
	user := func(i int) memory.Scope { return memory.Scope{Tenant: "acme", User: fmt.Sprintf("user-%03d", i%1000)} }

	restoreAll(t, in.Facts().Restore, largeFacts, 1000, func(i int) driver.SavedFact {
		id, content := uuid.New(), fmt.Sprintf("%s and fact number %d", sentence(random), i)
		one := driver.SavedFact{Scope: user(i), ID: id, Record: &memory.FactRecord{
			Fact: memory.Fact{
				ID: id, Kind: memory.Plain, Content: content, Importance: 0.5, Version: 1,
				ValidFrom: now, CreatedAt: now, UpdatedAt: now, Trust: memory.Stated,
			},
			Model: "random", Embedding: randomVector(random),
		}}
		one.History = []memory.Event{{ID: id, Kind: memory.Add, After: content, At: now}}
		one.Record.Key, one.Record.Terms = input.FactKey(content), rank.Terms(content)
		return one
	})
	restoreAll(t, in.Documents().Restore, largeDocuments, 100, func(i int) driver.SavedSource {
		one := driver.SavedSource{Source: knowledge.Source{
			ID: uuid.New(), Scope: user(i), URI: fmt.Sprintf("file-%d.txt", i), Format: "text", SHA256: "0", Size: 1, Revision: 1,
			Model: "random", CreatedAt: now, UpdatedAt: now,
		}}
		one.Chunks = chunksEach
		for j := range chunksEach {
			content := sentence(random)
			one.Records = append(one.Records, driver.ChunkRecord{
				Chunk: driver.Chunk{ID: uuid.New(), Source: one.ID, Ordinal: j, Content: content, End: 1, Tokens: 10, Model: "random"},
				Terms: rank.Terms(content), Embedding: randomVector(random),
			})
		}
		return one
	})
	restoreAll(t, in.Conversations().Restore, largeConversations, 10, func(i int) driver.SavedSession {
		one := driver.SavedSession{Session: memory.Session{ID: fmt.Sprintf("session-%d", i), Scope: user(i), CreatedAt: now, UpdatedAt: now}}
		for j := range messagesEach {
			text := sentence(random)
			data, err := json.Marshal(map[string]any{"type": "human", "data": map[string]string{"content": text}})
			require.NoError(t, err)
			one.Rows = append(one.Rows, driver.MessageRow{
				Scope: one.Scope, Session: one.ID, Position: int64(j) + 1, ID: fmt.Sprint("m", j), Key: input.FactKey(text), At: now,
				Role: llm.RoleUser, Text: text, Data: data, Terms: rank.Terms(text),
			})
		}
		one.Messages = messagesEach
		return one
	})
	require.Equal(t, 500_000, largeFacts+largeDocuments*(1+chunksEach)+largeConversations*messagesEach)
}

// restoreAll restores n items that the function made returns, in batches.
func restoreAll[T any](t *testing.T, restore func(context.Context, []T) (int, error), n, batch int, made func(i int) T) {
	t.Helper()
	var list []T
	for i := range n {
		if list = append(list, made(i)); len(list) == batch || i == n-1 {
			stored, err := restore(context.Background(), list)
			require.NoError(t, err)
			require.Equal(t, len(list), stored)
			list = list[:0]
		}
	}
}

var vocabulary = strings.Fields("tea coffee Athens Oslo train ticket meeting budget invoice garden river window letter doctor music winter summer bread")

func sentence(random *rand.Rand) string {
	words := make([]string, 12)
	for i := range words {
		words[i] = word(random)
	}
	return strings.Join(words, " ")
}

func word(random *rand.Rand) string {
	return vocabulary[random.IntN(len(vocabulary))] + strconv.Itoa(random.IntN(50))
}

func randomVector(random *rand.Rand) []float32 {
	v := make([]float32, largeDimension)
	for i := range v {
		v[i] = random.Float32() - 0.5
	}
	return v
}
