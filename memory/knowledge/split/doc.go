// Package split cuts documents into pieces that can be found on their own.
//
//	d := split.Splitter{Size: 300}.Split(text, split.Markdown)
//	for _, p := range d.Pieces {
//		fmt.Println(p.Headings, p.Content)
//	}
//
// What to know about it:
//
//   - It cuts where a document is made to be cut: between sections, then between
//     paragraphs, code blocks, tables and lists, and only within one that is larger than a
//     piece may be: between its items, lines, sentences, words, and, at worst, characters.
//   - A piece knows the headings that it stands under, and the bytes of the
//     source that it is made of. For Markdown and plain text it is these bytes.
//   - Nothing is lost: the pieces have all that a document says, in order.
//   - It takes any text, also a broken one, in time that grows with its length.
//
// A [Splitter] is a value, and safe for use by any number of goroutines.
package split
