package split

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxNesting limits how deep lists and quotes are parsed. The parser passes over the line
	// once more for each level, and deeper levels do not change the cuts.
	maxNesting = 32
	// maxDefinitions limits the lines of a paragraph that are searched for link definitions,
	// since the time grows with the square of their number.
	maxDefinitions = 2000
)

// blockParser parses only blocks, since inline markup does not change the cuts.
var blockParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithParagraphTransformers(util.Prioritized(definitions{}, 100)),
)

// inlineParser parses the text of a heading.
var inlineParser = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
)

// shallow is a parser of containers that opens no container deeper than [maxNesting].
type shallow struct{ parser.BlockParser }

func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	depth := 0
	for n := parent; n != nil; n = n.Parent() {
		depth++
	}
	if depth > maxNesting {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// definitions finds link definitions in paragraphs of a limited length.
type definitions struct{}

func (definitions) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if node.Lines().Len() <= maxDefinitions {
		parser.LinkReferenceParagraphTransformer.Transform(node, reader, pc)
	}
}

// parse returns the syntax tree of a text, or nil if the parser panics. The text is not
// trusted, and a bug of the parser must not end the program.
func parse(p parser.Parser, source []byte, pc parser.Context) (root ast.Node) {
	defer func() {
		if recover() != nil {
			root = nil
		}
	}()
	return p.Parse(text.NewReader(source), parser.WithContext(pc))
}

// parseMarkdown returns the top-level blocks of a text. Each block extends to the next one,
// so that the blocks hold all text between them. It returns nil for a text that the parser
// cannot read.
func parseMarkdown(source string) *parsed {
	p := &parsed{text: source}
	p.open(nil)
	body := p.frontMatter(skipMark(source))
	m := markdownReader{parsed: p, source: unixLines(source[body:]), body: body, context: parser.NewContext()}
	root := parse(blockParser, m.source, m.context)
	if root == nil {
		return nil
	}
	start := 0
	var open ast.Node
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		at := m.lineStart(n)
		if open == nil {
			open = n // the text before it is blank
			continue
		}
		if at <= start || isDefinition(open) && isDefinition(n) {
			continue
		}
		m.block(open, start, at)
		open, start = n, at
	}
	if open != nil {
		m.block(open, start, len(m.source))
	}
	return p
}

// unixLines returns a copy of the same length in which every line ends with \n, because the
// parser does not support the other line endings of CommonMark.
func unixLines(source string) []byte {
	data := []byte(source)
	for i, c := range data {
		switch {
		case c != '\r':
		case i+1 < len(data) && data[i+1] == '\n':
			data[i] = ' '
		default:
			data[i] = '\n'
		}
	}
	return data
}

func isDefinition(n ast.Node) bool { return n.Kind() == ast.KindLinkReferenceDefinition }

// A markdownReader turns the nodes of a syntax tree into blocks.
type markdownReader struct {
	*parsed
	source  []byte // the document after its front matter
	body    int    // the offset of source in the document
	context parser.Context
	outline outline
}

// lineStart returns the offset of the line in which a node begins.
func (m *markdownReader) lineStart(n ast.Node) int {
	at := min(max(n.Pos(), 0), len(m.source))
	for at > 0 && m.source[at-1] != '\n' {
		at--
	}
	return at
}

func (m *markdownReader) block(n ast.Node, start, end int) {
	start, end = start+m.body, end+m.body
	switch n := n.(type) {
	case *ast.Heading:
		if label := m.heading(n); label != "" {
			m.head(&m.outline, n.Level, label, start, end)
			return
		}
		m.add(paragraph, start, end)
	case *ast.CodeBlock, *ast.FencedCodeBlock, *ast.LinkReferenceDefinition:
		m.add(lines, start, end)
	case *ast.List:
		m.add(list, start, end)
	case *ast.Paragraph:
		m.paragraph(start, end)
	default:
		m.add(paragraph, start, end)
	}
}

// heading returns the text of a heading without its markup and its anchor, as in "{#here}".
func (m *markdownReader) heading(n *ast.Heading) string {
	var b strings.Builder
	for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
		b.Write(bytes.TrimSpace(m.source[line.Start:min(line.Stop, line.Start+4*maxHeading)]))
		b.WriteByte('\n')
		if b.Len() >= 4*maxHeading {
			break
		}
	}
	label := strings.TrimSpace(clip(b.String(), 4*maxHeading))
	if i := strings.LastIndex(label, "{#"); i >= 0 && strings.HasSuffix(label, "}") {
		label = label[:i]
	}
	return m.inline([]byte(label))
}

// references is the parser context of a heading. It finds the link definitions of the
// document.
type references struct {
	parser.Context
	document parser.Context
}

func (r references) Reference(label string) (parser.Reference, bool) {
	return r.document.Reference(label)
}

// inline returns a text without inline markup.
func (m *markdownReader) inline(source []byte) string {
	root := parse(inlineParser, source, references{parser.NewContext(), m.context})
	if root == nil {
		return label(string(source))
	}
	var b strings.Builder
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			value := n.Segment.Value(source)
			if n.Parent().Kind() == ast.KindCodeSpan {
				b.Write(value)
			} else {
				b.WriteString(html.UnescapeString(string(util.UnescapePunctuations(value))))
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.AutoLink:
			b.Write(n.Label(source))
		}
		return ast.WalkContinue, nil
	})
	return label(b.String())
}

// paragraph adds a paragraph, and the table at its end if there is one. The table extension
// of the parser is not used, because it creates a node for each missing cell, so a short text
// with a wide header would use all memory.
func (m *markdownReader) paragraph(start, end int) {
	before := start
	for at := lineEnd(m.text[:end], start); at < end; {
		next := lineEnd(m.text[:end], at)
		if header := m.text[before:at]; isTableHeader(header, m.text[at:next]) {
			if before > start {
				m.add(paragraph, start, before)
			}
			m.addTable(lines, before, end, next, strings.Trim(header, "| \t\r\n"))
			return
		}
		before, at = at, next
	}
	m.add(paragraph, start, end)
}

// isTableHeader reports whether a line is the header of a table, given the line below it.
func isTableHeader(header, rule string) bool {
	rule = strings.TrimSpace(rule)
	return strings.Contains(header, "|") && strings.Contains(rule, "|") && strings.Contains(rule, "-") &&
		strings.Trim(rule, "|-: \t") == "" && columns(header) == columns(rule)
}

// columns counts the cells of a table row.
func columns(row string) int {
	row = strings.ReplaceAll(strings.TrimSpace(row), `\|`, "")
	return strings.Count(strings.TrimSuffix(strings.TrimPrefix(row, "|"), "|"), "|") + 1
}

// frontMatter reads the lines between two lines of --- or +++ at the beginning of a document,
// and returns the offset after them, or at if there are none.
func (p *parsed) frontMatter(at int) int {
	start := at
	mark := trimLine(p.text, at)
	if mark != "---" && mark != "+++" {
		return start
	}
	title, separator := "", ":"
	if mark == "+++" {
		separator = "="
	}
	for at = lineEnd(p.text, at); at < len(p.text); at = lineEnd(p.text, at) {
		line := trimLine(p.text, at)
		if line == mark {
			end := lineEnd(p.text, at)
			p.title = title
			p.add(lines, start, end)
			return end
		}
		if name, value, ok := strings.Cut(line, separator); ok && strings.TrimRight(name, " \t") == "title" {
			title = label(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
	return start
}

// trimLine returns the line at an offset without the space at its end.
func trimLine(text string, at int) string {
	return strings.TrimRight(text[at:lineEnd(text, at)], " \t\r\n")
}

// listMarker returns the length of the list marker that a line begins with, or 0.
func listMarker(body string) int {
	n := 0
	for n < len(body) && n < 9 && body[n] >= '0' && body[n] <= '9' {
		n++
	}
	marks := "-*+"
	if n > 0 {
		marks = ".)"
	}
	if n >= len(body) || strings.IndexByte(marks, body[n]) < 0 {
		return 0
	}
	if n++; n < len(body) && body[n] != ' ' && body[n] != '\t' {
		return 0
	}
	return n
}
