package knowledge

import (
	"context"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/weft-go/weft/memory/knowledge/split"
)

// An Extractor extracts the text of a file in a format that package split does not read, such
// as PDF. Its errors need not name the file. It must be safe for concurrent use.
type Extractor interface {
	Extract(ctx context.Context, file []byte) (Extracted, error)
}

// ExtractorFunc is a function that implements [Extractor].
type ExtractorFunc func(ctx context.Context, file []byte) (Extracted, error)

// Extract calls f.
func (f ExtractorFunc) Extract(ctx context.Context, file []byte) (Extracted, error) {
	return f(ctx, file)
}

// Extracted is the text of a file.
type Extracted struct {
	// Text must be UTF-8 without NUL.
	Text string
	// Format is the format of the text. Empty means plain text. [split.Pages] keeps the page
	// numbers of chunks.
	Format split.Format
	// Title is the title in the file, if it has one. It is cut off after 512 bytes.
	Title string
}

// Extractors holds extractors by file extension, such as ".pdf", or by media type, such as
// "application/pdf". Keys are in lower case.
type Extractors map[string]Extractor

// For returns the extractor for a file name, an address or a media type, or nil if there is
// none.
func (e Extractors) For(name string) Extractor {
	if mediaType, _, err := mime.ParseMediaType(name); err == nil {
		if x := e[mediaType]; x != nil {
			return x
		}
	}
	if i := strings.IndexAny(name, "?#"); i >= 0 && strings.Contains(name, "://") {
		name = name[:i]
	}
	return e[strings.ToLower(path.Ext(name))]
}

// maxTitle is the maximum number of bytes of a title.
const maxTitle = 512

func (e *Extracted) title() string {
	title := strings.Join(strings.Fields(strings.ReplaceAll(strings.ToValidUTF8(e.Title, "\ufffd"), "\x00", "")), " ")
	n := min(len(title), maxTitle)
	for n < len(title) && !utf8.RuneStart(title[n]) {
		n--
	}
	return strings.TrimSpace(title[:n])
}
