package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

const manual = `# Kettle

## Filling

Fill it with cold water up to the line.

## Boiling

Press the red switch. It stops by itself when the water boils.

## Cleaning

Use vinegar once a month, and rinse it well.
`

// small cuts each section into its own chunk.
var small = split.Splitter{Size: 40, Small: -1}

func TestIngestUnchanged(t *testing.T) {
	t.Parallel()
	e, store := newWords(), watch()
	b := newBase(t, store, knowledge.Options{Embedder: e, Splitter: small})
	texts := []string{"kettle.md", manual, "empty.md", "", "notes.txt", "Some notes. On two lines."}
	first := ingest(t, b, texts...)
	require.Equal(t, 3, first.Added)
	require.Equal(t, 4, first.Chunks)
	require.Equal(t, 4, first.Embedded)
	assert.Equal(t, int64(len(manual)+25), first.Bytes)
	calls, writes := e.calls.Load(), store.writes.Load()
	again := ingest(t, b, texts...)
	require.Equal(t, 3, again.Unchanged, "again")
	require.Equal(t, 0, again.Added+again.Updated+again.Embedded, "again")
	assert.Equal(t, 4, again.Chunks, "again")
	require.Equal(t, calls, e.calls.Load(), "again: %d calls of the embedder and %d writes, want none", e.calls.Load()-calls, store.writes.Load()-writes)
	assert.Equal(t, writes, store.writes.Load(), "again: %d calls of the embedder and %d writes, want none", e.calls.Load()-calls, store.writes.Load()-writes)
}

func TestIngestChanged(t *testing.T) {
	t.Parallel()
	e, store := newWords(), watch()
	b := newBase(t, store, knowledge.Options{Embedder: e, Splitter: small})
	ingest(t, b, "kettle.md", manual)
	ids := map[string]bool{}
	for _, r := range search(t, b, memory.Question{Text: "kettle"}) {
		ids[r.Item.Chunk.ID] = true
	}
	changed := strings.Replace(manual, "red switch", "green switch", 1)
	changed = strings.Replace(changed, "## Boiling", "## Placing\n\nPut it on a table.\n\n## Boiling", 1)
	before := e.texts.Load()
	report := ingest(t, b, "kettle.md", changed)
	n := e.texts.Load() - before
	require.Equal(t, 1, report.Updated)
	require.Equal(t, 2, report.Embedded)
	require.EqualValues(t, 2, n)
	assert.Equal(t, 4, report.Chunks)
	kept := 0
	for _, r := range search(t, b, memory.Question{Text: "kettle"}) {
		assert.Equal(t, changed[r.Item.Chunk.Start:r.Item.Chunk.End], r.Item.Chunk.Content, "chunk %d is %q, and at its place is %q", r.Item.Chunk.Ordinal, r.Item.Chunk.Content, changed[r.Item.Chunk.Start:r.Item.Chunk.End])
		if ids[r.Item.Chunk.ID] {
			kept++
		}
		require.Equal(t, "words", r.Item.Chunk.Model)
		require.Equal(t, "words", r.Item.Source.Model)
		assert.EqualValues(t, 2, r.Item.Source.Revision)
	}
	assert.Equal(t, 2, kept)
	assert.Contains(t, search(t, b, memory.Question{Text: "red switch", Limit: 1})[0].Item.Chunk.Content, "green switch")
}

func TestIngestDescription(t *testing.T) {
	t.Parallel()
	e := newWords()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Embedder: e})
	d := knowledge.Document{URI: "a.md", Text: manual, Metadata: []byte(` {"n": 1} `), Version: "1"}
	run := func(d knowledge.Document) knowledge.Report {
		return collect(t, b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
	}
	run(d)
	calls := e.calls.Load()
	for _, change := range []func(){
		func() { d.Metadata = []byte(`{"n": 2}`) }, func() { d.Version = "2" }, func() { d.Trusted = true },
	} {
		change()
		got := run(d)
		require.Equal(t, 1, got.Updated)
		assert.Equal(t, 0, got.Embedded)
		assert.Equal(t, 1, run(d).Unchanged, "again")
	}
	assert.Equal(t, calls, e.calls.Load(), "the embedder was called")
	r := search(t, b, memory.Question{Text: "vinegar"})[0]
	require.Equal(t, "Kettle", r.Item.Source.Title)
	require.Equal(t, "2", r.Item.Source.Version)
	require.Equal(t, `{"n": 2}`, string(r.Item.Source.Metadata))
	assert.Equal(t, memory.Stated, r.Item.Source.Trust)
	d.Title = "Tea"
	assert.Equal(t, 1, run(d).Updated, "a new title is not found")
	assert.NotNil(t, search(t, b, memory.Question{Text: "tea"}), "a new title is not found")
}

func TestIngestSettings(t *testing.T) {
	t.Parallel()
	store, e := watch(), newWords()
	ingest(t, newBase(t, store, knowledge.Options{}), "a.md", manual)
	got := ingest(t, newBase(t, store, knowledge.Options{Embedder: e}), "a.md", manual)
	require.Equal(t, 1, got.Updated, "with an embedder")
	assert.Equal(t, 1, got.Embedded, "with an embedder")
	assert.Equal(t, 1, ingest(t, newBase(t, store, knowledge.Options{}), "a.md", manual).Unchanged, "without it once more")
	got = ingest(t, newBase(t, store, knowledge.Options{Splitter: small, Embedder: e}), "a.md", manual)
	require.Equal(t, 1, got.Updated, "with another splitter")
	require.Equal(t, 3, got.Chunks, "with another splitter")
	assert.Equal(t, 3, got.Embedded, "with another splitter")
	short := split.CounterFunc(func(text string) int { return 2 * split.Estimate.Count(text) })
	assert.Equal(t, 1, ingest(t, newBase(t, store, knowledge.Options{Splitter: split.Splitter{Size: 40, Small: -1, Counter: short}, Embedder: e}), "a.md", manual).Updated, "with another counter")
	other := newWords()
	other.model = "other"
	b := newBase(t, store, knowledge.Options{Splitter: small, Embedder: other})
	got = collect(t, b.Reembed(t.Context(), knowledge.Query{Reach: acme.Only()}))
	require.Equal(t, 1, got.Updated, "reembed")
	require.Equal(t, got.Chunks, got.Embedded, "reembed")
	assert.GreaterOrEqual(t, got.Chunks, 3, "reembed")
	assert.Equal(t, 0, collect(t, b.Reembed(t.Context(), knowledge.Query{Reach: acme.Only()})).Documents(), "reembed again")
	r := search(t, b, memory.Question{Text: "vinegar", Limit: 1})[0]
	require.Equal(t, "other", r.Item.Chunk.Model)
	require.NotEqual(t, 0, r.Score.Vector)
	assert.NotEqual(t, 0, r.Score.Keyword)
}

func TestIngestStopAndResume(t *testing.T) {
	t.Parallel()
	e, store := newWords(), watch()
	b := newBase(t, store, knowledge.Options{Embedder: e, Batch: 8})
	var texts []string
	for i := range 350 {
		texts = append(texts, fmt.Sprintf("%03d", i), fmt.Sprintf("The text number %d.", i))
	}
	yielded := map[string]bool{}
	for p, err := range b.Ingest(t.Context(), acme, documents(texts...), knowledge.IngestOptions{}) {
		require.NoError(t, err)
		yielded[p.URI] = true
		if len(yielded) == 120 {
			break
		}
	}
	for uri := range yielded {
		assert.Contains(t, uris(t, b, acme), uri)
	}
	// Cancel a run in the middle of a batch.
	ctx, cancel := context.WithCancelCause(t.Context())
	var once sync.Once
	e.fail = func(ctx context.Context, texts []string) error {
		if strings.Contains(texts[0], "number 2") && strings.Contains(texts[0], "5.") {
			once.Do(func() { cancel(errSorry) })
		}
		return ctx.Err()
	}
	_, _, err := knowledge.Collect(b.Ingest(ctx, acme, documents(texts...), knowledge.IngestOptions{}))
	assert.False(t, ctx.Err() != nil && !errors.Is(err, errSorry))
	e.fail = nil
	there := int64(len(strings.Fields(uris(t, b, acme))))
	before := e.texts.Load()
	report := ingest(t, b, texts...)
	got := e.texts.Load() - before
	require.Equal(t, 350-there, got, "resumed")
	require.Equal(t, int(there), report.Unchanged, "resumed")
	assert.Equal(t, int(350-there), report.Added, "resumed")
}

func TestIngestBatches(t *testing.T) {
	t.Parallel()
	e := newWords()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Embedder: e, Batch: 10, Parallel: 3, Splitter: small})
	var texts []string
	for i := range 95 {
		texts = append(texts, fmt.Sprint(i), fmt.Sprintf("Text %d.", i))
	}
	ingest(t, b, texts...)
	assert.EqualValues(t, 10, e.calls.Load(), "calls")
	assert.EqualValues(t, 10, e.mostTexts.Load(), "texts of a call")
	assert.LessOrEqual(t, int(e.mostAtOne.Load()), 3, "concurrent calls")
}

func TestIngestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newWords()
		e.fail = func(ctx context.Context, _ []string) error {
			<-ctx.Done()
			return ctx.Err()
		}
		store := watch()
		b := newBase(t, store, knowledge.Options{Embedder: e, Batch: 1, Parallel: 2})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		_, _, err := knowledge.Collect(b.Ingest(ctx, acme, documents("a", "a", "b", "b", "c", "c"), knowledge.IngestOptions{}))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(begin))
		assert.EqualValues(t, 0, store.writes.Load())
	})
}

func TestIngestAtOnce(t *testing.T) {
	t.Parallel()
	store := inmemory.NewDocuments()
	var texts []string
	for i := range 150 {
		texts = append(texts, fmt.Sprint(i), manual+fmt.Sprint(i))
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			b := newBase(t, store, knowledge.Options{Embedder: newWords(), Splitter: small})
			report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents(texts...), knowledge.IngestOptions{}))
			require.NoError(t, err)
			require.Empty(t, troubles)
			assert.Equal(t, 150, report.Documents())
		})
	}
	wg.Wait()
	b := newBase(t, store, knowledge.Options{})
	for s, err := range b.Sources(t.Context(), knowledge.Query{Reach: acme.Only()}) {
		require.NoError(t, err, "%s has revision %d, error %v", s.URI, s.Revision, err)
		assert.EqualValues(t, 1, s.Revision, "%s has revision %d, error %v", s.URI, s.Revision, err)
	}
}

func TestIngestConflicts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, e := watch(), newWords()
		b := newBase(t, store, knowledge.Options{Embedder: e})
		n := 0
		store.swapping = func(driver.SourceChange) error {
			if n++; n%10 != 0 {
				return memory.ErrConflict
			}
			return nil
		}
		got := ingest(t, b, "a", "text")
		require.Equal(t, 1, got.Added)
		assert.EqualValues(t, 1, e.texts.Load())
		store.swapping = func(driver.SourceChange) error { return memory.ErrConflict }
		_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("b", "text", "c", "text"), knowledge.IngestOptions{}))
		require.ErrorIs(t, err, memory.ErrConflict)
		require.Len(t, troubles, 2)
		require.ErrorIs(t, troubles[0].Err, memory.ErrConflict)
		assert.ErrorContains(t, troubles[0].Err, "ingest it again when they are done")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _, err = knowledge.Collect(b.Ingest(ctx, acme, documents("d", "text"), knowledge.IngestOptions{}))
		assert.ErrorIs(t, err, context.DeadlineExceeded, "with a deadline")
	})
}

// Six concurrent writers of one document, each with another text, all succeed.
func TestIngestOneURI(t *testing.T) {
	t.Parallel()
	store := inmemory.NewDocuments()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			b := newBase(t, store, knowledge.Options{Embedder: newWords()})
			for round := range 10 {
				report, _, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", fmt.Sprintf("Text %d of %d.", round, i)), knowledge.IngestOptions{}))
				require.NoError(t, err)
				assert.Equal(t, 1, report.Added+report.Updated)
			}
		})
	}
	wg.Wait()
}

// Complete documents are stored and yielded after 256 vectors or two seconds, while other documents are still
// embedded.
func TestIngestStoresMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  knowledge.Options
		call     time.Duration
		first    time.Duration // the time of the first yielded document
		atOnce   int           // the maximum number of documents that are yielded together
		lost     int64         // the maximum number of additional vectors that a stop loses
		duration time.Duration
	}{
		// 255 vectors are too few to store. If the first of four calls is recorded last, the documents of all four
		// become complete together: 40 more vectors, and up to 6 earlier vectors of a document with 7 chunks.
		"by number":          {knowledge.Options{Batch: 10, Parallel: 4}, 100 * time.Millisecond, 700 * time.Millisecond, 255 + 40 + 6, 40, 2 * time.Second},
		"by time":            {knowledge.Options{Batch: 1, Parallel: 1}, 300 * time.Millisecond, 2100 * time.Millisecond, 7, 8, 211 * time.Second},
		"calls that go long": {knowledge.Options{Batch: 10, Parallel: 2}, 5 * time.Second, 6 * time.Second, 28, 40, 180 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, store := newWords(), watch()
				e.fail = func(ctx context.Context, _ []string) error {
					select {
					case <-time.After(c.call):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				c.options.Embedder = e
				b := newBase(t, store, c.options)
				page := strings.Repeat("Some words. ", 800) // each has 7 chunks
				var texts []string
				for i := range 100 {
					texts = append(texts, fmt.Sprintf("%02d", i), fmt.Sprint(i, " ", page))
				}
				began := time.Now()
				var last time.Time
				var first, at time.Duration
				atOnce, n, chunks := 0, 0, 0
				for p, err := range b.Ingest(t.Context(), acme, documents(texts...), knowledge.IngestOptions{}) {
					require.NoError(t, err)
					require.Equal(t, knowledge.Added, p.Status)
					require.Equal(t, fmt.Sprintf("%02d", n), p.URI)
					require.Equal(t, p.Chunks, p.Embedded)
					if n++; !time.Now().Equal(last) {
						last, chunks = time.Now(), 0
					}
					chunks += p.Chunks
					atOnce, at = max(atOnce, chunks), time.Since(began)
					if first == 0 {
						first = at
					}
					lost := e.texts.Load() - int64(p.Total.Embedded)
					assert.LessOrEqual(t, lost, c.lost+int64(c.atOnce), "%d vectors were made and %d are stored", e.texts.Load(), p.Total.Embedded)
				}
				t.Logf("%d chunks, first after %v, %d at once, all after %v, %d writes", e.texts.Load(), first, atOnce, at, store.writes.Load())
				require.Equal(t, 100, n)
				require.LessOrEqual(t, atOnce, c.atOnce)
				require.LessOrEqual(t, first, c.first)
				assert.LessOrEqual(t, at, c.duration)
			})
		})
	}
}

// A window does not wait for documents that are listed slowly.
func TestIngestSlowDocuments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
		list := func(yield func(knowledge.Document, error) bool) {
			for i := range 10 {
				time.Sleep(time.Second)
				if !yield(knowledge.Document{URI: fmt.Sprint(i), Text: "text"}, nil) {
					return
				}
			}
		}
		began := time.Now()
		for _, err := range b.Ingest(t.Context(), acme, list, knowledge.IngestOptions{}) {
			got := time.Since(began)
			require.NoError(t, err)
			assert.LessOrEqual(t, got, 4*time.Second)
			break
		}
	})
}

func TestIngestTwice(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	got := ingest(t, b, "a", "first", "a", "second", "a", "second")
	require.Equal(t, 1, got.Added)
	require.Equal(t, 1, got.Updated)
	assert.Equal(t, 1, got.Unchanged)
}

func TestIngestQuota(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Quota: driver.SourceQuota{Sources: 2}})
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", "x", "b", "x", "c", "x"), knowledge.IngestOptions{}))
	require.ErrorIs(t, err, memory.ErrQuota)
	require.Equal(t, 2, report.Added)
	require.Len(t, troubles, 1)
	assert.ErrorIs(t, troubles[0].Err, memory.ErrQuota)
}

func TestIngestPrune(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	ingest(t, b, "d/a", "a", "d/b", "b", "d/c", "c", "e/a", "a")
	prune := knowledge.IngestOptions{Prune: true, Under: "d/"}
	broken := func(yield func(knowledge.Document, error) bool) {
		_ = yield(knowledge.Document{URI: "d/a", Text: "a"}, nil) && yield(knowledge.Document{URI: "d/sub"}, errSorry)
	}
	partial, _, err := knowledge.Collect(b.Ingest(t.Context(), acme, broken, prune))
	require.ErrorIs(t, err, errSorry)
	assert.Zero(t, partial.Pruned, "not all documents were listed")
	assert.Equal(t, 1, partial.Failed)
	for p, err := range b.Ingest(t.Context(), acme, documents("d/a", "a"), prune) {
		require.NoError(t, err)
		assert.Equal(t, knowledge.Unchanged, p.Status)
		break
	}
	assert.Equal(t, "d/a d/b d/c e/a", uris(t, b, acme), "after runs that did not end")
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("d/a", "a", "d/c", "\x00"), prune))
	require.NoError(t, err)
	require.Equal(t, 2, report.Pruned)
	require.Len(t, troubles, 1)
	assert.Equal(t, "d/a e/a", uris(t, b, acme))
}

// TestIngestMemory proves that an ingest of 50 MB in many documents needs little memory. The store discards
// the documents.
func TestIngestMemory(t *testing.T) {
	documents, size := 1000, 50<<10
	if testing.Short() {
		documents /= 5
	}
	page := strings.Repeat("## Section\n\n"+strings.Repeat("Some words that say what it is about. ", 40)+"\n\n", 1+size/1500)[:size]
	list := func(yield func(knowledge.Document, error) bool) {
		for i := range documents {
			d := knowledge.Document{URI: fmt.Sprintf("%d.md", i), Open: func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(page[i%100:])), nil
			}}
			if !yield(d, nil) {
				return
			}
		}
	}
	store := &nowhere{}
	b := newBase(t, store, knowledge.Options{Embedder: newWords()})
	before := inUse()
	total := collect(t, b.Ingest(t.Context(), acme, list, knowledge.IngestOptions{}))
	most := int64(store.most) - int64(before)
	t.Logf("%d documents, %d chunks, %d MB: %d MB in use at most", total.Added, total.Chunks, total.Bytes>>20, most>>20)
	require.Equal(t, documents, total.Added)
	require.GreaterOrEqual(t, total.Bytes, int64(documents)*48<<10)
	assert.LessOrEqual(t, most, int64(64<<20))
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// nowhere is a store that discards its data, and records the maximum memory in use at a call of Swap.
type nowhere struct {
	driver.DocumentStore
	most uint64
}

func (n *nowhere) Swap(_ context.Context, c driver.SourceChange) error {
	n.most = max(n.most, inUse())
	runtime.KeepAlive(c)
	return nil
}

func (*nowhere) Sources(context.Context, knowledge.Query) iter.Seq2[knowledge.Source, error] {
	return func(func(knowledge.Source, error) bool) {}
}
