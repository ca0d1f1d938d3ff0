package sqlitememory_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/sqlitememory"
)

var zoe = driver.Scope{User: "zoe of zanzibar"}

// fillChunks stores n chunks in a scope, with a fixed number in each source.
func fillChunks(tb testing.TB, store driver.DocumentStore, s driver.Scope, n, each int) {
	tb.Helper()
	for from := 0; from < n; from += each {
		chunks := make([]driver.ChunkRecord, min(each, n-from))
		for i := range chunks {
			terms := make([]string, 60)
			for j := range terms {
				terms[j] = fmt.Sprint("w", (from+i)*(j+1)%9973)
			}
			text := fmt.Sprint(terms)
			chunks[i] = driver.ChunkRecord{
				Chunk: driver.Chunk{ID: uuid.New(), Ordinal: i, End: len(text), Tokens: 60, Content: text, Model: "m"},
				Terms: terms, Embedding: make([]float32, 256),
			}
		}
		source := driver.Source{ID: uuid.New(), URI: fmt.Sprint(from, ".md"), SHA256: "x"}
		require.NoError(tb, store.Swap(context.Background(), driver.SourceChange{Scope: s, Swaps: []driver.SourceSwap{{Source: source, Chunks: chunks}}}))
	}
}

// BenchmarkDelete measures the time to delete a scope of documents, and the waiting time of
// concurrent writes and searches.
func BenchmarkDelete(b *testing.B) {
	ctx := b.Context()
	chunks := 95_000
	if testing.Short() {
		chunks = 5_000
	}
	for _, each := range []int{100, chunks} {
		b.Run(fmt.Sprintf("chunks=%d/each=%d", chunks, each), func(b *testing.B) {
			var took, waited []time.Duration
			for b.Loop() {
				b.StopTimer()
				db := open(b, filepath.Join(b.TempDir(), "memory.db"), sqlitememory.Options{})
				store := db.Documents()
				fillChunks(b, store, ann, chunks, each)
				fillChunks(b, store, driver.Scope{User: "bob"}, 100, 10)
				facts, err := memory.New(db, memory.Options{})
				require.NoError(b, err)
				b.StartTimer()
				began, done := time.Now(), make(chan error, 1)
				go func() {
					_, err := store.Delete(ctx, driver.SourceQuery{Reach: ann.Only()})
					took = append(took, time.Since(began))
					done <- err
				}()
				for i := 0; len(done) == 0; i++ {
					began := time.Now()
					_, err := facts.Store(ctx, driver.Scope{User: "bob"}, driver.Fact{Content: fmt.Sprint("fact ", i), Trust: driver.Stated})
					require.NoError(b, err)
					waited = append(waited, time.Since(began))
				}
				require.NoError(b, <-done)
			}
			b.ReportMetric(slices.Max(took).Seconds(), "longest-s")
			b.ReportMetric(float64(slices.Max(waited).Milliseconds()), "longest-wait-ms")
			slices.Sort(waited)
			b.ReportMetric(float64(waited[len(waited)/2].Milliseconds()), "p50-wait-ms")
			b.ReportMetric(float64(len(waited))/float64(len(took)), "writes")
		})
	}
}

// seen returns the number of sources in a scope, the number of chunks according to the sources, and
// the number of chunks that are found.
func seen(tb testing.TB, store driver.DocumentStore, s driver.Scope) (sources, chunks, found int) {
	tb.Helper()
	q := driver.SourceQuery{Reach: s.Only()}
	var spans []driver.ChunkSpan
	for source, err := range store.Sources(context.Background(), q) {
		require.NoError(tb, err)
		sources++
		spans = append(spans, driver.ChunkSpan{Scope: s, Source: source.ID, To: 1 << 30})
	}
	for _, err := range store.Chunks(context.Background(), spans) {
		require.NoError(tb, err)
		chunks++
	}
	c, err := store.Search(context.Background(), driver.ChunkSearch{Query: q, Terms: []string{"w0"}, Embedding: make([]float32, 256), Model: "m", Limit: 10})
	require.NoError(tb, err)
	require.Equal(tb, chunks, int(c.Chunks))
	return sources, chunks, len(c.Records)
}

// waitGone waits until a scope has no sources.
func waitGone(tb testing.TB, store driver.DocumentStore, s driver.Scope) {
	tb.Helper()
	for n := 1; n > 0; {
		n = 0
		for _, err := range store.Sources(tb.Context(), driver.SourceQuery{Reach: s.Only()}) {
			require.NoError(tb, err)
			n++
		}
	}
}

// limited is a context that ends after a number of calls of its Err method.
type limited struct {
	context.Context
	left *int
}

func (l limited) Err() error {
	if *l.left--; *l.left < 0 {
		return context.Canceled
	}
	return nil
}

// If a deletion is stopped at any point, either all sources are visible or none. The sources can be
// stored again, and the next deletion of the scope, or the next Open, removes the rest.
func TestDeleteIsStoppedAnywhere(t *testing.T) {
	t.Parallel()
	bob := driver.Scope{User: "bob"}
	for stop, done := 0, false; !done; stop++ {
		path := filepath.Join(t.TempDir(), "memory.db")
		db, err := sqlitememory.Open(t.Context(), path, options)
		require.NoError(t, err)
		store := db.Documents()
		fillChunks(t, store, ann, 60, 24)
		fillChunks(t, store, bob, 6, 3)
		left := stop
		_, err = store.Delete(limited{t.Context(), &left}, driver.SourceQuery{Reach: ann.Only(), Prefix: "24"})
		if done = err == nil; !done {
			require.ErrorIs(t, err, context.Canceled)
		}
		switch sources, chunks, found := seen(t, store, ann); {
		case sources == 3 && chunks == 60 && found >= 10:
			assert.False(t, done, "nothing was deleted")
		case sources == 2 && chunks == 36 && found >= 10:
		default:
			t.Errorf("stopped at look %d: got %d sources, %d chunks, %d found, want all of 3, or of 2", stop, sources, chunks, found)
		}
		_, err = store.Delete(t.Context(), driver.SourceQuery{Reach: ann.Only(), Prefix: "24"})
		assert.NoError(t, err)
		if stop%2 == 0 {
			_, err = store.Delete(t.Context(), driver.SourceQuery{Reach: driver.Scope{User: "nobody"}.Only()})
			require.NoError(t, err)
		}
		require.NoError(t, db.Close())
		if stop%2 == 1 {
			db, err = sqlitememory.Open(t.Context(), path, options)
			require.NoError(t, err)
			require.NoError(t, db.Close())
		}
		wantSwept(t, path, 42)
		checkIndex(t, path)
	}
}

// wantSwept checks the number of chunks in a file, and that no removed source has chunks left.
func wantSwept(t *testing.T, path string, want int) {
	t.Helper()
	var chunks, gone int
	require.NoError(t, rawDB(t, path).QueryRow(`SELECT (SELECT count(*) FROM mem_chunk), (SELECT count(*) FROM mem_source_dead)`).Scan(&chunks, &gone))
	require.Equal(t, want, chunks)
	assert.Equal(t, 0, gone)
}

// During a large deletion, readers no longer see the sources, others can write, and the sources can
// be stored again.
func TestWritesWhileDeleting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path, options)
	store := db.Documents()
	fillChunks(t, store, ann, 1500, 1500)
	done := make(chan error, 1)
	go func() {
		_, err := store.Delete(t.Context(), driver.SourceQuery{Reach: ann.Only()})
		done <- err
	}()
	waitGone(t, store, ann)
	fillChunks(t, store, ann, 30, 30)
	add(t, db.Facts(), ann, "a fact")
	var gone int
	require.NoError(t, rawDB(t, path).QueryRow(`SELECT count(*) FROM mem_source_dead`).Scan(&gone))
	assert.NotEqual(t, 0, gone, "everything was deleted before others could write")
	sources, chunks, found := seen(t, store, ann)
	require.Equal(t, 1, sources)
	require.Equal(t, 30, chunks)
	assert.GreaterOrEqual(t, found, 10)
	require.NoError(t, <-done)
	sources, chunks, found = seen(t, store, ann)
	require.Equal(t, 1, sources)
	require.Equal(t, 30, chunks)
	assert.GreaterOrEqual(t, found, 10)
	wantSwept(t, path, 30)
	checkIndex(t, path)
}

// If a process is killed during a deletion, the sources are gone, and the next process removes the
// rest.
func TestKilledWhileDeleting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	c := startChild(t)
	c.want("ok", "open", path)
	store := open(t, path, patient).Documents()
	fillChunks(t, store, zoe, 1500, 500)
	c.send("delete")
	waitGone(t, store, zoe)
	c.kill()
	var left int
	require.NoError(t, rawDB(t, path).QueryRow(`SELECT count(*) FROM mem_source_dead`).Scan(&left))
	assert.NotEqual(t, 0, left, "it was killed too late")
	open(t, path, patient)
	wantSwept(t, path, 0)
	checkIndex(t, path)
	n, err := store.Delete(t.Context(), driver.SourceQuery{Reach: zoe.Only()})
	require.Equal(t, 0, n, "again")
	assert.NoError(t, err, "again")
	assert.Empty(t, leftovers(t, path, []string{" w9966 ", zoe.User}))
}
