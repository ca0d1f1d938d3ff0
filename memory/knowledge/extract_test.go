package knowledge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// upper is an extractor that converts a file to upper case and makes each line a page.
var upper = knowledge.ExtractorFunc(func(_ context.Context, file []byte) (knowledge.Extracted, error) {
	text := strings.ToUpper(strings.ReplaceAll(string(file), "\n", "\f"))
	return knowledge.Extracted{Text: text, Format: split.Pages, Title: " The\x00 title\n\xff" + strings.Repeat("é", 400)}, nil
})

// failing is an extractor that returns an error.
func failing(err error) knowledge.Extractor {
	return knowledge.ExtractorFunc(func(context.Context, []byte) (knowledge.Extracted, error) {
		return knowledge.Extracted{Text: "ignored"}, err
	})
}

func TestExtractorsFor(t *testing.T) {
	t.Parallel()
	x := knowledge.Extractors{".up": upper, "application/up": upper}
	for _, name := range []string{"a.up", "b/A.UP", "https://example.com/a.up?page=2#x", "application/up", "Application/UP; charset=utf-8"} {
		assert.NotNil(t, x.For(name), name)
	}
	for _, name := range []string{"", "up", "a.up.txt", "a.up/b", "https://example.com/a?x=.up", "application/pdf"} {
		assert.Nil(t, x.For(name), name)
	}
	assert.Nil(t, knowledge.Extractors(nil).For("a.up"))
}

func TestFolderExtractsTheTextOfOtherFormats(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{"a.UP": {Data: []byte("one\n\nthree")}, "b.md": {Data: []byte("# B\n\nx")}}
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	run := func() knowledge.Report {
		return collect(t, b.Ingest(t.Context(), acme, knowledge.Folder(tree, knowledge.FolderOptions{Extractors: knowledge.Extractors{".up": upper}}), knowledge.IngestOptions{}))
	}
	assert.Equal(t, 2, run().Added)
	assert.Equal(t, 2, run().Unchanged)
	r := search(t, b, memory.Question{Text: "three"})
	require.Len(t, r, 1)
	assert.Equal(t, "THREE", r[0].Item.Chunk.Content)
	assert.Equal(t, []string{"Page 3"}, r[0].Item.Chunk.Headings)
	assert.Equal(t, [2]int{5, 10}, [2]int{r[0].Item.Chunk.Start, r[0].Item.Chunk.End})
	assert.Equal(t, string(split.Pages), r[0].Item.Source.Format)
	assert.True(t, strings.HasPrefix(r[0].Item.Source.Title, "The title \ufffdéé"), r[0].Item.Source.Title)
	assert.LessOrEqual(t, len(r[0].Item.Source.Title), 512)
}

func TestReaderTakesAnExtractor(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	d := knowledge.Reader("https://example.com/1", strings.NewReader("words"))
	d.Extractor, d.Title = knowledge.Extractors{"application/up": upper}.For("application/up"), "Mine"
	collect(t, b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
	r := search(t, b, memory.Question{Text: "words"})
	require.Len(t, r, 1)
	assert.Equal(t, "WORDS", r[0].Item.Chunk.Content)
	assert.Equal(t, "Mine", r[0].Item.Source.Title)
}

func TestExtractorErrorsNameTheFile(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{MaxSize: 100})
	text := func(e knowledge.Extracted) knowledge.Extractor {
		return knowledge.ExtractorFunc(func(context.Context, []byte) (knowledge.Extracted, error) { return e, nil })
	}
	for _, c := range []struct {
		name      string
		extractor knowledge.Extractor
		status    knowledge.Status
		err       error
	}{
		{"an error", failing(errSorry), knowledge.Failed, errSorry},
		{"an unknown format", text(knowledge.Extracted{Text: "x", Format: "docx"}), knowledge.Failed, memory.ErrInvalid},
		{"too much text", text(knowledge.Extracted{Text: strings.Repeat("x", 101)}), knowledge.Skipped, knowledge.ErrTooLarge},
		{"no UTF-8", text(knowledge.Extracted{Text: "\xff"}), knowledge.Skipped, knowledge.ErrNotText},
	} {
		d := knowledge.Document{URI: "reports/q1.up", Text: "x", Extractor: c.extractor}
		_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
		require.Equal(t, c.status == knowledge.Failed, errors.Is(err, c.err), c.name)
		require.Len(t, troubles, 1, c.name)
		assert.Equal(t, c.status, troubles[0].Status, c.name)
		assert.Equal(t, "reports/q1.up", troubles[0].URI, c.name)
		require.ErrorIs(t, troubles[0].Err, c.err, c.name)
		if c.status == knowledge.Failed {
			assert.ErrorContains(t, troubles[0].Err, `"reports/q1.up"`, c.name)
		}
	}
	d := knowledge.Document{URI: "a.up", Text: strings.Repeat("x", 101), Extractor: failing(errSorry)}
	_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, knowledge.Documents(d), knowledge.IngestOptions{}))
	require.NoError(t, err)
	require.ErrorIs(t, troubles[0].Err, knowledge.ErrTooLarge)
}

func TestIngestReturnsTheErrorOfItsContextIfAnExtractorIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := knowledge.ExtractorFunc(func(ctx context.Context, _ []byte) (knowledge.Extracted, error) {
		cancel(errSorry)
		<-ctx.Done()
		return knowledge.Extracted{}, ctx.Err()
	})
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	_, troubles, err := knowledge.Collect(b.Ingest(ctx, acme, knowledge.Documents(knowledge.Document{URI: "a.up", Extractor: stopped}), knowledge.IngestOptions{}))
	require.ErrorIs(t, err, errSorry)
	assert.Empty(t, troubles)
}
