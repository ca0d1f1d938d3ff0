package split

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// ErrInvalid says that a [Splitter] is set to what it can not do.
var ErrInvalid = errors.New("invalid")

// Format is how a text is written.
type Format string

// The formats.
const (
	Plain    Format = "text"
	Markdown Format = "markdown"
	HTML     Format = "html"
	JSON     Format = "json" // also one value a line
)

// FormatOf returns the format that the name of a file, or an address, tells by its ending:
// [Plain] for one that is not known.
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

// Validate returns [ErrInvalid] for a format that does not exist.
func (f Format) Validate() error {
	switch f {
	case Plain, Markdown, HTML, JSON:
		return nil
	}
	return fmt.Errorf("format %.20q is none of %q: %w", string(f), []Format{Plain, Markdown, HTML, JSON}, ErrInvalid)
}

// A Splitter says how to cut. Its zero value makes pieces of up to 400 tokens, without
// overlap.
type Splitter struct {
	// Size is how many tokens a piece may have, from 16 to 8192. Zero stands for 400.
	Size int
	// Overlap is how many tokens, at most, a piece repeats of the one before in
	// its section. It is at most half of the size.
	Overlap int
	// Small is how few tokens of a section are joined to the next one. Zero stands
	// for an eighth of the size, and a negative number joins headings only.
	Small int
	// Counter counts tokens. Nil stands for [Estimate].
	Counter Counter
}

// The sizes of pieces.
const (
	DefaultSize = 400
	MinSize     = 16
	MaxSize     = 8192
)

// Validate returns [ErrInvalid] for sizes that are not allowed. Split takes the nearest
// that are.
func (s Splitter) Validate() error {
	if s.Size != 0 && (s.Size < MinSize || s.Size > MaxSize) {
		return fmt.Errorf("size %d is not between %d and %d: %w", s.Size, MinSize, MaxSize, ErrInvalid)
	}
	if fit := s.fit(); s.Overlap != fit.Overlap || s.Small > fit.Size {
		return fmt.Errorf("overlap %d and small %d, with a size of %d: %w", s.Overlap, s.Small, fit.Size, ErrInvalid)
	}
	return nil
}

// fit returns the splitter with what was left out.
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

// A Document is a text that was cut.
type Document struct {
	// Title is what the document calls itself: in its front matter, its title
	// element or its first heading. It is empty if it does not.
	Title  string
	Pieces []Piece
}

// A Piece is a part of a document.
type Piece struct {
	// Content is its text, without space around it but the indentation of code. It is
	// never empty.
	Content string
	// Headings are those that it stands under, the outermost first. Pieces share them:
	// they are not to be changed.
	Headings []string
	// Start and End are the bytes of the source that it is made of: source[Start:End].
	// Both grow from piece to piece.
	Start, End int
	// Tokens is how many the content has.
	Tokens int
}

// Split cuts a text. An unknown format is taken as [Plain]. What is cut out of Markdown
// and plain text shares the memory of the text.
func (s Splitter) Split(text string, f Format) Document {
	var p *parsed
	switch f {
	case Markdown:
		p = parseMarkdown(text)
	case HTML:
		p = parseHTML(text)
	case JSON:
		p = parseJSON(text)
	}
	if p == nil {
		p = parsePlain(text)
	}
	k := packer{Splitter: s.fit(), parsed: p}
	k.pack()
	return Document{Title: p.title, Pieces: k.pieces}
}
