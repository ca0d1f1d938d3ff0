//go:build poppler

package pdf_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/pdf"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// The tests of this file read real files with pdftotext, and fail without it: see make pdf.

func TestIngestPDFs(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	base, err := knowledge.New(m, knowledge.Options{})
	require.NoError(t, err)
	scope := memory.Scope{Tenant: "acme"}
	documents := knowledge.Folder(os.DirFS("testdata"), knowledge.FolderOptions{Extractors: knowledge.Extractors{".pdf": pdf.Extractor{}}})
	report, troubles, err := knowledge.Collect(base.Ingest(t.Context(), scope, documents, knowledge.IngestOptions{}))
	require.NoError(t, err)
	assert.Equal(t, 1, report.Added)
	assert.Equal(t, 3, report.Failed)
	want := map[string]error{"blank.pdf": pdf.ErrNoText, "broken.pdf": pdf.ErrUnreadable, "encrypted.pdf": pdf.ErrEncrypted}
	for _, p := range troubles {
		require.ErrorIs(t, p.Err, want[p.URI])
		require.ErrorContains(t, p.Err, `"`+p.URI+`"`)
	}

	results, err := base.Search(t.Context(), memory.Question{Reach: scope.Only(), Text: "French café", Limit: 1})
	require.NoError(t, err)
	require.Len(t, results, 1)
	r := results[0].Item
	assert.Equal(t, []string{"Page 2"}, r.Chunk.Headings)
	assert.Equal(t, "-2-\n\nBlack tea needs boiling water. It costs 4 € and ‘café’ is French.", r.Chunk.Content)
	assert.Equal(t, string(split.Pages), r.Source.Format)

	report, _, err = knowledge.Collect(base.Ingest(t.Context(), scope, documents, knowledge.IngestOptions{}))
	require.NoError(t, err)
	assert.Equal(t, 1, report.Unchanged)
}

func TestExtractRealFileWithinItsMemory(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(filepath.Join("testdata", "pages.pdf"))
	require.NoError(t, err)
	got, err := pdf.Extractor{MaxMemory: 256 << 20}.Extract(t.Context(), file)
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(got.Text, "\f"))
	assert.True(t, strings.HasPrefix(got.Text, "The tea handbook\n"), got.Text)
	if runtime.GOOS == "linux" {
		_, err = pdf.Extractor{MaxMemory: 1 << 20}.Extract(t.Context(), file)
		require.ErrorIs(t, err, pdf.ErrUnreadable)
	}
}
