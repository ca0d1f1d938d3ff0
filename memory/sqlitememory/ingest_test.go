package sqlitememory_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// countingEmbedder counts the texts that it embeds.
type countingEmbedder struct {
	wordEmbedder
	texts atomic.Int64
}

func (e *countingEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.texts.Add(int64(len(texts)))
	return e.wordEmbedder.Embed(ctx, texts)
}

// handbook returns a number of documents of some kilobytes.
func handbook(n, paragraphs int) []knowledge.Document {
	list := make([]knowledge.Document, n)
	for i := range list {
		var b strings.Builder
		fmt.Fprintf(&b, "# Document %d\n\n", i)
		for p := range paragraphs {
			fmt.Fprintf(&b, "## Part %d\n\nIt says %s.\n\n", p, strings.Repeat(fmt.Sprintf("w%d ", (i*paragraphs+p)%977), 100))
		}
		list[i] = knowledge.Document{URI: fmt.Sprintf("%04d.md", i), Text: b.String()}
	}
	return list
}

// A second ingest continues an interrupted one, and does not embed a reported document again. An
// ingest of unchanged documents neither embeds nor writes.
func TestIngestStoppedAndResumed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	db := open(t, path, options)
	embedder := &countingEmbedder{}
	m, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	base, err := knowledge.New(m, knowledge.Options{Embedder: embedder})
	require.NoError(t, err)
	documents := handbook(250, 4)
	ingest := func(ctx context.Context, stop func(knowledge.Progress)) (total knowledge.Report, err error) {
		for p, err := range base.Ingest(ctx, ann, knowledge.Documents(documents...), knowledge.IngestOptions{}) {
			if err != nil {
				return total, err
			}
			total = p.Total
			stop(p)
		}
		return total, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped, err := ingest(ctx, func(p knowledge.Progress) {
		if p.Total.Added == 120 {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled, "stopped")
	require.GreaterOrEqual(t, stopped.Added, 120, "stopped")
	require.Less(t, stopped.Added, len(documents), "stopped")
	resumed, err := ingest(t.Context(), func(knowledge.Progress) {})
	require.NoError(t, err)
	require.Equal(t, stopped.Added, resumed.Unchanged, "resumed")
	require.Equal(t, len(documents)-stopped.Added, resumed.Added, "resumed")
	assert.Equal(t, resumed.Chunks, stopped.Embedded+resumed.Embedded, "resumed")
	asked, other := embedder.texts.Load(), rawDB(t, path)
	version := func() (n int64) { // it changes with each commit
		require.NoError(t, other.QueryRow(`PRAGMA data_version`).Scan(&n))
		return n
	}
	before := version()
	again, err := ingest(t.Context(), func(knowledge.Progress) {})
	require.NoError(t, err)
	require.Equal(t, len(documents), again.Unchanged, "unchanged")
	require.Equal(t, 0, again.Embedded, "unchanged")
	assert.Equal(t, asked, embedder.texts.Load(), "unchanged")
	assert.Equal(t, before, version(), "unchanged: something was written")
	changed := documents[7]
	changed.Text += "\n## New part\n\nIt says something else.\n"
	asked = embedder.texts.Load()
	documents[7] = changed
	again, err = ingest(t.Context(), func(knowledge.Progress) {})
	require.NoError(t, err)
	require.Equal(t, 1, again.Updated, "one changed")
	require.LessOrEqual(t, embedder.texts.Load()-asked, int64(2), "one changed")
	assert.NotEqual(t, before, version(), "one changed")
	checkIndex(t, path)
}

// The memory use of an ingest does not grow with the number of documents.
func TestIngestInBoundedMemory(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "memory.db"), options)
	m, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	base, err := knowledge.New(m, knowledge.Options{})
	require.NoError(t, err)
	const documents, size = 400, 16 << 10
	generated := func(yield func(knowledge.Document, error) bool) {
		for i := range documents {
			word := strings.Repeat(fmt.Sprintf("%07d", i), 40) + " " // few long words are indexed faster than many short ones
			if !yield(knowledge.Document{URI: fmt.Sprint(i), Text: strings.Repeat(word, size/len(word))}, nil) {
				return
			}
		}
	}
	var early, late uint64
	for p, err := range base.Ingest(t.Context(), ann, generated, knowledge.IngestOptions{Stop: true}) {
		require.NoError(t, err)
		var m runtime.MemStats
		switch p.Total.Added {
		case 100:
			runtime.GC()
			runtime.ReadMemStats(&m)
			early = m.HeapAlloc
		case documents:
			runtime.GC()
			runtime.ReadMemStats(&m)
			late = m.HeapAlloc
		}
	}
	require.NotEqual(t, 0, late, "got a heap of %d bytes after %d bytes, and %d after %d", late, documents*size, early, 100*size)
	assert.LessOrEqual(t, late, early+2<<20, "got a heap of %d bytes after %d bytes, and %d after %d", late, documents*size, early, 100*size)
}

func BenchmarkIngest(b *testing.B) {
	documents := handbook(200, 10)
	size := 0
	for _, d := range documents {
		size += len(d.Text)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		db, err := sqlitememory.Open(b.Context(), filepath.Join(b.TempDir(), "memory.db"), options)
		require.NoError(b, err)
		m, err := memory.New(db, memory.Options{})
		require.NoError(b, err)
		base, err := knowledge.New(m, knowledge.Options{Embedder: wordEmbedder{}})
		require.NoError(b, err)
		total, _, err := knowledge.Collect(base.Ingest(b.Context(), driver.Scope{}, knowledge.Documents(documents...), knowledge.IngestOptions{Stop: true}))
		require.NoError(b, err)
		require.Equal(b, len(documents), total.Added)
		require.NoError(b, db.Close())
	}
}

// Six concurrent writers of one document, each with its own open file and another text, all
// succeed.
func TestIngestOneURI(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "memory.db")
	var wait sync.WaitGroup
	for i := range 6 {
		m, err := memory.New(open(t, path, options), memory.Options{})
		require.NoError(t, err)
		base, err := knowledge.New(m, knowledge.Options{Embedder: &countingEmbedder{}})
		require.NoError(t, err)
		wait.Go(func() {
			for round := range 5 {
				d := knowledge.Document{URI: "a.md", Text: fmt.Sprintf("# Text %d\n\nOf writer %d.\n", round, i)}
				report, _, err := knowledge.Collect(base.Ingest(context.Background(), ann, knowledge.Documents(d), knowledge.IngestOptions{}))
				require.NoError(t, err)
				assert.Equal(t, 1, report.Added+report.Updated)
			}
		})
	}
	wait.Wait()
}
