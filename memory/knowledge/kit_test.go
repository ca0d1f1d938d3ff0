package knowledge_test

import (
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

var acme = memory.Scope{Tenant: "acme"}

// words is an embedder whose vectors count the words of a text by their hashes. It counts its
// calls and texts.
type words struct {
	model          string
	calls, texts   atomic.Int64
	now, mostAtOne atomic.Int64
	mostTexts      atomic.Int64
	fail           func(ctx context.Context, texts []string) error
}

const dimension = 64

func newWords() *words { return &words{model: "words"} }

func (e *words) Model() string { return e.model }

func (e *words) Dimension() int { return dimension }

func (e *words) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.calls.Add(1)
	e.texts.Add(int64(len(texts)))
	raise(&e.mostAtOne, e.now.Add(1))
	defer e.now.Add(-1)
	raise(&e.mostTexts, int64(len(texts)))
	if e.fail != nil {
		if err := e.fail(ctx, texts); err != nil {
			return nil, err
		}
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, dimension)
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			h := fnv.New32a()
			_, _ = h.Write([]byte(strings.Trim(word, ".,!?#")))
			vectors[i][h.Sum32()%dimension]++
		}
		vectors[i][0] += 0.01
	}
	return vectors, nil
}

func raise(most *atomic.Int64, n int64) {
	for {
		has := most.Load()
		if n <= has || most.CompareAndSwap(has, n) {
			return
		}
	}
}

// watched is a store that counts writes. A test can make its calls fail.
type watched struct {
	driver.DocumentStore
	writes   atomic.Int64
	swapping func(c driver.SourceChange) error
	mu       sync.Mutex
}

func watch() *watched { return &watched{DocumentStore: inmemory.NewDocuments()} }

func (w *watched) Swap(ctx context.Context, c driver.SourceChange) error {
	w.writes.Add(1)
	w.mu.Lock()
	hook := w.swapping
	w.mu.Unlock()
	if hook != nil {
		if err := hook(c); err != nil {
			return err
		}
	}
	return w.DocumentStore.Swap(ctx, c)
}

func (w *watched) Delete(ctx context.Context, q knowledge.Query) (int, error) {
	w.writes.Add(1)
	return w.DocumentStore.Delete(ctx, q)
}

var errSorry = errors.New("sorry")

func newBase(t testing.TB, store driver.DocumentStore, o knowledge.Options) *knowledge.Base {
	t.Helper()
	m, err := memory.New(inmemory.Fill(driver.Stores{DocumentStore: store}), memory.Options{})
	require.NoError(t, err)
	b, err := knowledge.New(m, o)
	require.NoError(t, err)
	return b
}

// ingest ingests texts, given as pairs of a URI and a text. It fails the test after an
// error.
func ingest(t testing.TB, b *knowledge.Base, texts ...string) knowledge.Report {
	t.Helper()
	return collect(t, b.Ingest(t.Context(), acme, documents(texts...), knowledge.IngestOptions{}))
}

// documents returns documents from pairs of a URI and a text.
func documents(texts ...string) iter.Seq2[knowledge.Document, error] {
	var list []knowledge.Document
	for i := 0; i < len(texts); i += 2 {
		list = append(list, knowledge.Document{URI: texts[i], Text: texts[i+1]})
	}
	return knowledge.Documents(list...)
}

func collect(t testing.TB, run iter.Seq2[knowledge.Progress, error]) knowledge.Report {
	t.Helper()
	report, troubles, err := knowledge.Collect(run)
	require.NoError(t, err)
	require.Empty(t, troubles)
	return report
}

func search(t testing.TB, b *knowledge.Base, q memory.Question, only ...knowledge.Filter) []memory.Hit[knowledge.Passage] {
	t.Helper()
	if q.Reach.Scope == (memory.Scope{}) {
		q.Reach.Scope = acme
	}
	results, err := b.Search(t.Context(), q, only...)
	require.NoError(t, err)
	return results
}

func uris(t testing.TB, b *knowledge.Base, s memory.Scope) string {
	t.Helper()
	var list []string
	for s, err := range b.Sources(t.Context(), knowledge.Query{Reach: s.Only()}) {
		require.NoError(t, err)
		list = append(list, s.URI)
	}
	return strings.Join(list, " ")
}
