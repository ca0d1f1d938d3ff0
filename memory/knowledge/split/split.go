package split

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// ErrInvalid is returned for an invalid [Splitter] or [Format].
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#spliterrinvalid.
var ErrInvalid = errors.New("invalid")

// Format is the format of a text.
type Format string

// The formats.
const (
	Plain    Format = "text"
	Markdown Format = "markdown"
	HTML     Format = "html"
	JSON     Format = "json" // one value, or one value on each line
	// Pages is plain text in which a form feed ends each page, as pdftotext writes it. A piece
	// never spans two pages, and its only heading is "Page" with the number.
	Pages Format = "pages"
)

// FormatOf returns the format of a file by the extension of its name or address. It returns
// [Plain] for an unknown extension.
func FormatOf(name string) Format {
	if i := strings.IndexAny(name, "?#"); i >= 0 && strings.Contains(name, "://") {
		name = name[:i]
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdown", ".mkd", ".mdx":
		return Markdown
	case ".html", ".htm", ".xhtml":
		return HTML
	case ".json", ".jsonl", ".ndjson":
		return JSON
	}
	return Plain
}

// Validate returns [ErrInvalid] for an unknown format.
func (f Format) Validate() error {
	switch f {
	case Plain, Markdown, HTML, JSON, Pages:
		return nil
	}
	return fmt.Errorf("format %.20q is not one of %q: %w", string(f), []Format{Plain, Markdown, HTML, JSON, Pages}, ErrInvalid)
}

// A Splitter cuts documents into pieces. The zero value cuts pieces of up to 400 tokens without
// overlap.
type Splitter struct {
	// Size is the maximum number of tokens of a piece, from 16 to 8192. Zero means 400.
	Size int
	// Overlap is the maximum number of tokens that a piece repeats from the previous piece of
	// its section. It is at most half of the size.
	Overlap int
	// Small is the number of tokens below which a section is joined to the next one. Zero
	// means an eighth of the size. A negative number joins only headings without text.
	Small int
	// Counter counts tokens. Nil means [Estimate].
	Counter Counter
}

// Limits and default of [Splitter.Size].
const (
	DefaultSize = 400
	MinSize     = 16
	MaxSize     = 8192
)

// Validate returns [ErrInvalid] for sizes that are not allowed. Split uses the nearest allowed
// sizes instead.
func (s Splitter) Validate() error {
	if s.Size != 0 && (s.Size < MinSize || s.Size > MaxSize) {
		return fmt.Errorf("size %d is not between %d and %d: %w", s.Size, MinSize, MaxSize, ErrInvalid)
	}
	if fit := s.fit(); s.Overlap != fit.Overlap || s.Small > fit.Size {
		return fmt.Errorf("overlap %d and small %d, with a size of %d: %w", s.Overlap, s.Small, fit.Size, ErrInvalid)
	}
	return nil
}

// fit returns the splitter with defaults and allowed sizes.
func (s Splitter) fit() Splitter {
	if s.Size == 0 {
		s.Size = DefaultSize
	}
	s.Size = min(max(s.Size, MinSize), MaxSize)
	s.Overlap = min(max(s.Overlap, 0), s.Size/2)
	if s.Small == 0 {
		s.Small = s.Size / 8
	}
	if s.Counter == nil {
		s.Counter = Estimate
	}
	return s
}

// A Document is the result of a split.
type Document struct {
	// Title is the title in the front matter, the title element or the first heading of the
	// document. It is empty if the document has none of them.
	Title  string
	Pieces []Piece
}

// A Piece is a part of a document.
type Piece struct {
	// Content is the text of the piece without space around it, except for the indentation of
	// code. It is never empty.
	Content string
	// Headings are the headings above the piece, the outermost first. If the piece starts in
	// a table after its header, the last one is the header of the table, as in "Tea | Price".
	// Pieces share the slice: do not modify it.
	Headings []string
	// Start and End are the offsets of the piece in the source, in bytes. Both grow from piece
	// to piece.
	Start, End int
	// Tokens is the number of tokens of the content.
	Tokens int
}

// Split cuts a text. It treats an unknown format as [Plain]. The pieces of Markdown, plain text
// and pages share the memory of the text.
func (s Splitter) Split(text string, f Format) Document {
	var p *parsed
	switch f {
	case Markdown:
		p = parseMarkdown(text)
	case HTML:
		p = parseHTML(text)
	case JSON:
		p = parseJSON(text)
	case Pages:
		p = parsePages(text)
		s.Small = -1 // do not join small pages
	}
	if p == nil {
		p = parsePlain(text)
	}
	k := packer{Splitter: s.fit(), parsed: p}
	k.pack()
	return Document{Title: p.title, Pieces: k.pieces}
}
