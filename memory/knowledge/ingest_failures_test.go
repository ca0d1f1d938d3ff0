package knowledge_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

func TestIngestFailures(t *testing.T) {
	t.Parallel()
	e, store := newWords(), watch()
	e.fail = func(_ context.Context, texts []string) error {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "poison") }) {
			return errSorry
		}
		return nil
	}
	store.swapping = func(c driver.SourceChange) error {
		if slices.ContainsFunc(c.Swaps, func(s driver.SourceSwap) bool { return s.Source.URI == "unstorable" }) {
			return errSorry
		}
		return nil
	}
	b := newBase(t, store, knowledge.Options{Embedder: e, MaxSize: 1000})
	list := []knowledge.Document{
		{URI: "good", Text: "good text"},
		{URI: "poisoned", Text: "poison"},
		{URI: "unstorable", Text: "text"},
		{URI: "large", Text: strings.Repeat("x", 1001)},
		{URI: "fits", Text: strings.Repeat("x", 1000)},
		{URI: "binary", Text: "a\x00b"},
		{URI: "latin", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("caf\xe9")), nil }},
		{URI: "unreadable", Open: func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(errSorry)), nil }},
		{URI: "stuck", Open: func() (io.ReadCloser, error) { return io.NopCloser(stuck{}), nil }},
		{URI: "closed", Open: func() (io.ReadCloser, error) { return nil, errSorry }},
		{Text: "no URI"},
		{URI: "metadata", Text: "x", Metadata: []byte("[]")},
		{URI: "format", Text: "x", Format: "pdf"},
		{URI: strings.Repeat("u", knowledge.MaxURI+1), Text: "x"},
		{URI: "last", Text: "last text"},
	}
	want := map[string]error{
		"poisoned": errSorry, "unstorable": errSorry, "large": knowledge.ErrTooLarge, "binary": knowledge.ErrNotText, "latin": knowledge.ErrNotText,
		"unreadable": errSorry, "stuck": io.ErrNoProgress, "closed": errSorry, "": memory.ErrInvalid, "metadata": memory.ErrInvalid, "format": memory.ErrInvalid, list[13].URI: memory.ErrInvalid,
	}
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Documents(list...), knowledge.IngestOptions{}))
	require.EqualError(t, err, `knowledge: 9 of 15 documents failed; the first: document "poisoned": `+troubles[0].Err.Error())
	require.Equal(t, 3, report.Added)
	require.Equal(t, 9, report.Failed)
	require.Equal(t, 3, report.Skipped)
	assert.Len(t, troubles, len(want))
	for _, p := range troubles {
		require.ErrorIs(t, p.Err, want[p.URI])
		assert.Equal(t, p.Status == knowledge.Failed, errors.Is(err, p.Err), "the error of Collect has the error of %q", p.URI)
	}
	assert.Equal(t, "fits good last", uris(t, b, acme), "stored")
	_, _, err = knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Documents(list...), knowledge.IngestOptions{Stop: true}))
	require.ErrorIs(t, err, errSorry, "with Stop")
	assert.ErrorContains(t, err, `knowledge: ingest: document "poisoned"`, "with Stop")
}

// A skipped document is not a failure, because a folder may have files of other formats.
func TestCollectSkipped(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	report, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", "text", "logo", "\x00"), knowledge.IngestOptions{}))
	require.NoError(t, err)
	require.Len(t, troubles, 1)
	assert.Equal(t, 1, report.Skipped)
}

func TestIngestBadEmbedder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		vectors [][]float32
		want    error
	}{
		"too few": {nil, memory.ErrInvalid}, "dimension": {[][]float32{{1}}, memory.ErrDimension},
	} {
		b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Embedder: fixed(c.vectors)})
		_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", "text"), knowledge.IngestOptions{}))
		require.ErrorIs(t, err, c.want, name)
		require.Len(t, troubles, 1, name)
		assert.ErrorIs(t, troubles[0].Err, c.want, name)
		_, err = b.Search(t.Context(), memory.Question{Text: "text"})
		assert.ErrorIs(t, err, c.want, "%s: search", name)
	}
}

// stuck is a reader that never returns a byte.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestIngestPanickingEmbedder proves that a panic of the embedder fails only the
// documents of the call.
func TestIngestPanickingEmbedder(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Embedder: violent{}})
	_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", "text", "b", "more"), knowledge.IngestOptions{}))
	require.ErrorContains(t, err, "2 of 2 documents failed")
	require.Len(t, troubles, 2)
	assert.ErrorContains(t, troubles[0].Err, "the embedder panicked: ouch")
}

type violent struct{ fixed }

func (violent) Embed(context.Context, []string) ([][]float32, error) { panic("ouch") }

type fixed [][]float32

func (fixed) Model() string { return "fixed" }

func (fixed) Dimension() int { return 2 }

func (f fixed) Embed(context.Context, []string) ([][]float32, error) { return f, nil }
