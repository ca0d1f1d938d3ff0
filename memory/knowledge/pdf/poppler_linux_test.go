//go:build poppler

package pdf_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/knowledge/pdf"
)

// A small file can hold a page of millions of words, all of which pdftotext keeps in memory.
// MaxMemory ends the program.
func TestExtractFileThatGrowsWithinItsMemory(t *testing.T) {
	t.Parallel()
	file := growing(t, 1_000_000)
	require.Less(t, len(file), 1<<20)
	_, err := pdf.Extractor{MaxMemory: 256 << 20, Timeout: time.Minute}.Extract(t.Context(), file)
	require.ErrorIs(t, err, pdf.ErrUnreadable)
	require.ErrorContains(t, err, "memory")
}

// growing returns a PDF with a page of n words.
func growing(t *testing.T, n int) []byte {
	t.Helper()
	var stream bytes.Buffer
	z, err := zlib.NewWriterLevel(&stream, zlib.BestCompression)
	require.NoError(t, err)
	_, err = io.WriteString(z, "BT /F 10 Tf 0 0 Td\n"+strings.Repeat("20 0 Td(tea)Tj\n", n)+"ET\n")
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var b bytes.Buffer
	var offsets []int
	b.WriteString("%PDF-1.4\n")
	for i, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 90000000 900]/Resources<</Font<</F 5 0 R>>>>/Contents 4 0 R>>",
		fmt.Sprintf("<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream", stream.Len(), stream.String()),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	} {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}
