// Package split cuts documents into pieces for search.
//
//	d := split.Splitter{Size: 300}.Split(text, split.Markdown)
//	for _, p := range d.Pieces {
//		fmt.Println(p.Headings, p.Content)
//	}
//
// Rules:
//
//   - A document is cut between sections if possible, then between paragraphs, code blocks,
//     tables and lists. A block that is larger than a piece is cut between items, lines,
//     sentences, words or, at last, characters.
//   - Markdown is CommonMark with tables and front matter. Only headings outside of lists,
//     quotes and HTML start a section.
//   - For HTML, only the visible text is cut. Scripts, styles, templates, menus, comments and
//     hidden elements are dropped.
//   - A piece has the headings above it and its offsets in the source. For Markdown, plain
//     text and pages, the piece is exactly the bytes between the offsets.
//   - No text is lost: the pieces have all visible text, in order.
//   - Split accepts every text, even if it is invalid. Its time grows linearly with the length
//     of the text, even with deep nesting.
//
// A [Splitter] is a value and safe for concurrent use.
package split
