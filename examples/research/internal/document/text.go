package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/pdf"
)

// Limits of a file and its text in bytes.
const (
	MaxUpload = 32 << 20
	MaxText   = 4 << 20
)

// pdfTime limits the time to read a PDF.
const pdfTime = 30 * time.Second

var (
	// ErrUnreadable is returned for a file without readable text.
	ErrUnreadable = errors.New("the file can not be read")
	// ErrLarge is returned for a text that is longer than [MaxText].
	ErrLarge = fmt.Errorf("the text has more than %d bytes", MaxText)
)

// A Reader reads the text of files.
type Reader struct {
	// PDF reads PDF files. Its zero value runs pdftotext, of Poppler.
	PDF pdf.Extractor
}

// Text returns the text of a file in UTF-8 or of a PDF.
func (r Reader) Text(ctx context.Context, data []byte) (string, error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	text := string(data)
	if bytes.HasPrefix(data, []byte("%PDF-")) {
		var err error
		if text, err = r.pdf(ctx, data); err != nil {
			return "", err
		}
	}
	switch {
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return "", fmt.Errorf("%w: it is neither text in UTF-8 nor a PDF", ErrUnreadable)
	case len(text) > MaxText:
		return "", ErrLarge
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("%w: it has no text", ErrUnreadable)
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\f", "\n"), nil
}

func (r Reader) pdf(ctx context.Context, data []byte) (string, error) {
	x := r.PDF
	if x.Timeout == 0 {
		x.Timeout = pdfTime
	}
	if x.MaxText == 0 {
		x.MaxText = MaxText
	}
	got, err := x.Extract(ctx, data)
	switch {
	case err == nil:
		return got.Text, nil
	case ctx.Err() != nil:
		return "", err
	case errors.Is(err, knowledge.ErrTooLarge):
		return "", ErrLarge
	case errors.Is(err, pdf.ErrNotInstalled):
		return "", fmt.Errorf("%w: it is a PDF, and pdftotext is not installed here; upload its text", ErrUnreadable)
	case errors.Is(err, pdf.ErrEncrypted):
		return "", fmt.Errorf("%w: it is an encrypted PDF", ErrUnreadable)
	case errors.Is(err, pdf.ErrNoText):
		return "", fmt.Errorf("%w: it has no text", ErrUnreadable)
	}
	return "", fmt.Errorf("%w: pdftotext can not read this PDF", ErrUnreadable)
}
