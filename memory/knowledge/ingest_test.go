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

// small makes a chunk of each section.
var small = split.Splitter{Size: 40, Small: -1}

func TestIngestUnchanged(t *testing.T) {
	t.Parallel()
	e, store := newWords(), watch()
	b := newBase(t, store, knowledge.Options{Embedder: e, Splitter: small})
	texts := []string{"kettle.md", manual, "empty.md", "", "notes.txt", "Some notes. On two lines."}
	first := ingest(t, b, texts...)
	if first.Added != 3 || first.Chunks != 4 || first.Embedded != 4 || first.Bytes != int64(len(manual)+25) {
		t.Errorf("got %+v", first)
	}
	calls, writes := e.calls.Load(), store.writes.Load()
	again := ingest(t, b, texts...)
	if again.Unchanged != 3 || again.Added+again.Updated+again.Embedded != 0 || again.Chunks != 4 {
		t.Errorf("again: got %+v", again)
	}
	if e.calls.Load() != calls || store.writes.Load() != writes {
		t.Errorf("again: %d calls of the embedder and %d writes, want none", e.calls.Load()-calls, store.writes.Load()-writes)
	}
}

func TestIngestChanged(t *testing.T) {
	t.Parallel()
	e, store := newWords(), watch()
	b := newBase(t, store, knowledge.Options{Embedder: e, Splitter: small})
	ingest(t, b, "kettle.md", manual)
	ids := map[string]bool{}
	for _, r := range search(t, b, knowledge.Question{Text: "kettle"}) {
		ids[r.Item.Chunk.ID] = true
	}
	changed := strings.Replace(manual, "red switch", "green switch", 1)
	changed = strings.Replace(changed, "## Boiling", "## Placing\n\nPut it on a table.\n\n## Boiling", 1)
	before := e.texts.Load()
	report := ingest(t, b, "kettle.md", changed)
	if n := e.texts.Load() - before; report.Updated != 1 || report.Embedded != 2 || n != 2 || report.Chunks != 4 {
		t.Errorf("got %+v, and %d texts embedded, want 2: what changed, and what is new", report, n)
	}
	kept := 0
	for _, r := range search(t, b, knowledge.Question{Text: "kettle"}) {
		if r.Item.Chunk.Content != changed[r.Item.Chunk.Start:r.Item.Chunk.End] {
			t.Errorf("chunk %d is %q, and at its place is %q", r.Item.Chunk.Ordinal, r.Item.Chunk.Content, changed[r.Item.Chunk.Start:r.Item.Chunk.End])
		}
		if ids[r.Item.Chunk.ID] {
			kept++
		}
		if r.Item.Chunk.Model != "words" || r.Item.Source.Model != "words" || r.Item.Source.Revision != 2 {
			t.Errorf("got chunk %+v of %+v", r.Item.Chunk, r.Item.Source)
		}
	}
	if kept != 2 {
		t.Errorf("%d chunks have their ids as before, want 2", kept)
	}
	if got := search(t, b, knowledge.Question{Text: "red switch", Limit: 1})[0]; !strings.Contains(got.Item.Chunk.Content, "green switch") {
		t.Errorf("got %q", got.Item.Chunk.Content)
	}
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
		if got := run(d); got.Updated != 1 || got.Embedded != 0 {
			t.Errorf("got %+v, want an update without a vector", got)
		}
		if got := run(d); got.Unchanged != 1 {
			t.Errorf("again: got %+v", got)
		}
	}
	if e.calls.Load() != calls {
		t.Error("the embedder was called")
	}
	r := search(t, b, knowledge.Question{Text: "vinegar"})[0]
	if r.Item.Source.Title != "Kettle" || r.Item.Source.Version != "2" || string(r.Item.Source.Metadata) != `{"n": 2}` || r.Item.Source.Trust != memory.Stated {
		t.Errorf("got %+v", r.Item.Source)
	}
	if d.Title = "Tea"; run(d).Updated != 1 || search(t, b, knowledge.Question{Text: "tea"}) == nil {
		t.Error("a new title is not found")
	}
}

func TestIngestSettings(t *testing.T) {
	t.Parallel()
	store, e := watch(), newWords()
	ingest(t, newBase(t, store, knowledge.Options{}), "a.md", manual)
	if got := ingest(t, newBase(t, store, knowledge.Options{Embedder: e}), "a.md", manual); got.Updated != 1 || got.Embedded != 1 {
		t.Errorf("with an embedder: got %+v", got)
	}
	if got := ingest(t, newBase(t, store, knowledge.Options{}), "a.md", manual); got.Unchanged != 1 {
		t.Errorf("without it once more: got %+v", got)
	}
	if got := ingest(t, newBase(t, store, knowledge.Options{Splitter: small, Embedder: e}), "a.md", manual); got.Updated != 1 || got.Chunks != 3 || got.Embedded != 3 {
		t.Errorf("with another splitter: got %+v", got)
	}
	short := split.CounterFunc(func(text string) int { return 2 * split.Estimate.Count(text) })
	if got := ingest(t, newBase(t, store, knowledge.Options{Splitter: split.Splitter{Size: 40, Small: -1, Counter: short}, Embedder: e}), "a.md", manual); got.Updated != 1 {
		t.Errorf("with another counter: got %+v", got)
	}
	other := newWords()
	other.model = "other"
	b := newBase(t, store, knowledge.Options{Splitter: small, Embedder: other})
	if got := collect(t, b.Reembed(t.Context(), knowledge.Query{Reach: acme.Only()})); got.Updated != 1 || got.Embedded != got.Chunks || got.Chunks < 3 {
		t.Errorf("reembed: got %+v", got)
	}
	if got := collect(t, b.Reembed(t.Context(), knowledge.Query{Reach: acme.Only()})); got.Documents() != 0 {
		t.Errorf("reembed again: got %+v", got)
	}
	if r := search(t, b, knowledge.Question{Text: "vinegar", Limit: 1})[0]; r.Item.Chunk.Model != "other" || r.Score.Vector == 0 || r.Score.Keyword == 0 {
		t.Errorf("got %+v", r)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		yielded[p.URI] = true
		if len(yielded) == 120 {
			break
		}
	}
	for uri := range yielded {
		if !strings.Contains(uris(t, b, acme), uri) {
			t.Errorf("%s was yielded, and is not there", uri)
		}
	}
	// A run that is cancelled in the middle of a batch.
	ctx, cancel := context.WithCancelCause(t.Context())
	var once sync.Once
	e.fail = func(ctx context.Context, texts []string) error {
		if strings.Contains(texts[0], "number 2") && strings.Contains(texts[0], "5.") {
			once.Do(func() { cancel(errSorry) })
		}
		return ctx.Err()
	}
	_, _, err := knowledge.Collect(b.Ingest(ctx, acme, documents(texts...), knowledge.IngestOptions{}))
	if ctx.Err() != nil && !errors.Is(err, errSorry) {
		t.Errorf("got %v, want the cause", err)
	}
	e.fail = nil
	there := int64(len(strings.Fields(uris(t, b, acme))))
	before := e.texts.Load()
	report := ingest(t, b, texts...)
	if got := e.texts.Load() - before; got != 350-there || report.Unchanged != int(there) || report.Added != int(350-there) {
		t.Errorf("resumed: %d embedded with %d there, %+v", got, there, report)
	}
}

func TestIngestBatches(t *testing.T) {
	t.Parallel()
	e := newWords()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Embedder: e, Batch: 10, Parallel: 3, Splitter: small})
	var texts []string
	for i := range 95 {
		texts = append(texts, fmt.Sprint(i), fmt.Sprintf("Text %d.", i))
	}
	if ingest(t, b, texts...); e.calls.Load() != 10 || e.mostTexts.Load() != 10 || e.mostAtOne.Load() > 3 {
		t.Errorf("%d calls, of %d texts at most, %d at once", e.calls.Load(), e.mostTexts.Load(), e.mostAtOne.Load())
	}
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
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute || store.writes.Load() != 0 {
			t.Errorf("got %v after %v, %d writes", err, time.Since(begin), store.writes.Load())
		}
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
			if err != nil || len(troubles) > 0 || report.Documents() != 150 {
				t.Errorf("got %+v, %+v, error %v", report, troubles, err)
			}
		})
	}
	wg.Wait()
	b := newBase(t, store, knowledge.Options{})
	for s, err := range b.Sources(t.Context(), knowledge.Query{Reach: acme.Only()}) {
		if err != nil || s.Revision != 1 {
			t.Errorf("%s has revision %d, error %v", s.URI, s.Revision, err)
		}
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
		if got := ingest(t, b, "a", "text"); got.Added != 1 || e.texts.Load() != 1 {
			t.Errorf("got %+v, and %d texts embedded, want 1", got, e.texts.Load())
		}
		store.swapping = func(driver.SourceChange) error { return memory.ErrConflict }
		_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("b", "text", "c", "text"), knowledge.IngestOptions{}))
		if err != nil || len(troubles) != 2 || !errors.Is(troubles[0].Err, memory.ErrConflict) || !strings.Contains(troubles[0].Err.Error(), "ingest it again when they are done") {
			t.Errorf("got %+v, error %v", troubles, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, _, err := knowledge.Collect(b.Ingest(ctx, acme, documents("d", "text"), knowledge.IngestOptions{})); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a deadline: got %v", err)
		}
	})
}

// Six who write one document at once, each another text, all get it done.
func TestIngestOneURI(t *testing.T) {
	t.Parallel()
	store := inmemory.NewDocuments()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			b := newBase(t, store, knowledge.Options{Embedder: newWords()})
			for round := range 10 {
				report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", fmt.Sprintf("Text %d of %d.", round, i)), knowledge.IngestOptions{}))
				if err != nil || report.Added+report.Updated != 1 {
					t.Errorf("got %+v, %+v, error %v", report, troubles, err)
				}
			}
		})
	}
	wg.Wait()
}

// What is embedded is stored and yielded while the rest is still embedded: after 256 vectors, or two seconds.
func TestIngestStoresMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options  knowledge.Options
		call     time.Duration
		first    time.Duration // when something is yielded first
		atOnce   int           // how many are yielded at one time, at most
		lost     int64         // how many more vectors a stop loses, at most
		duration time.Duration
	}{
		// 255 vectors are too few. The first of four calls may be the last to be noted: it adds 40 vectors,
		// and the rest of a document of 7.
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
					if err != nil || p.Status != knowledge.Added || p.URI != fmt.Sprintf("%02d", n) || p.Embedded != p.Chunks {
						t.Fatalf("got %+v, error %v", p, err)
					}
					if n++; !time.Now().Equal(last) {
						last, chunks = time.Now(), 0
					}
					chunks += p.Chunks
					atOnce, at = max(atOnce, chunks), time.Since(began)
					if first == 0 {
						first = at
					}
					if lost := e.texts.Load() - int64(p.Total.Embedded); lost > c.lost+int64(c.atOnce) {
						t.Errorf("%d vectors were made and %d are stored", e.texts.Load(), p.Total.Embedded)
					}
				}
				t.Logf("%d chunks, first after %v, %d at once, all after %v, %d writes", e.texts.Load(), first, atOnce, at, store.writes.Load())
				if n != 100 || atOnce > c.atOnce || first > c.first || at > c.duration {
					t.Errorf("%d documents, the first after %v, the last after %v", n, first, at)
				}
			})
		})
	}
}

// Documents that come slowly are not waited for.
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
			if got := time.Since(began); err != nil || got > 4*time.Second {
				t.Errorf("the first is yielded after %v, error %v", got, err)
			}
			break
		}
	})
}

func TestIngestTwice(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	if got := ingest(t, b, "a", "first", "a", "second", "a", "second"); got.Added != 1 || got.Updated != 1 || got.Unchanged != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestIngestQuota(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Quota: driver.SourceQuota{Sources: 2}})
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", "x", "b", "x", "c", "x"), knowledge.IngestOptions{}))
	if err != nil || report.Added != 2 || len(troubles) != 1 || !errors.Is(troubles[0].Err, memory.ErrQuota) {
		t.Errorf("got %+v, %+v, error %v", report, troubles, err)
	}
}

func TestIngestPrune(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	ingest(t, b, "d/a", "a", "d/b", "b", "d/c", "c", "e/a", "a")
	prune := knowledge.IngestOptions{Prune: true, Under: "d/"}
	broken := func(yield func(knowledge.Document, error) bool) {
		_ = yield(knowledge.Document{URI: "d/a", Text: "a"}, nil) && yield(knowledge.Document{URI: "d/sub"}, errSorry)
	}
	if report, _, err := knowledge.Collect(b.Ingest(t.Context(), acme, broken, prune)); err != nil || report.Pruned != 0 || report.Failed != 1 {
		t.Errorf("not all listed: got %+v, error %v", report, err)
	}
	for p, err := range b.Ingest(t.Context(), acme, documents("d/a", "a"), prune) {
		if err != nil || p.Status != knowledge.Unchanged {
			t.Errorf("got %+v, error %v", p, err)
		}
		break
	}
	if got := uris(t, b, acme); got != "d/a d/b d/c e/a" {
		t.Errorf("after runs that did not end: %s", got)
	}
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("d/a", "a", "d/c", "\x00"), prune))
	if err != nil || report.Pruned != 2 || len(troubles) != 1 || uris(t, b, acme) != "d/a e/a" {
		t.Errorf("got %+v, error %v, left: %s", report, err, uris(t, b, acme))
	}
}

// TestIngestMemory takes 50 MB in many documents, into a store that keeps none of it.
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
	if total.Added != documents || total.Bytes < int64(documents)*48<<10 || most > 64<<20 {
		t.Errorf("got %+v, with %d MB in use", total, most>>20)
	}
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// nowhere is a store that forgets everything but how much memory was in use when it was to
// store something.
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
