package deep

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// short returns a text cut off after length bytes, with a note of the number of missing bytes.
func short(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return fmt.Sprintf("%s… (%d more bytes)", strings.ToValidUTF8(text[:length], ""), len(text)-length)
}

// piece returns up to most bytes of a line, from a column. If the line is longer, a note gives the
// offset and column at which to continue. The offset is the number of lines before this line.
func piece(line string, offset, column, most int) string {
	begin := boundary(line, column)
	end := boundary(line, begin+most)
	if end == len(line) {
		return line[begin:]
	}
	return fmt.Sprintf("%s… (%d more bytes; continue with offset %d and column %d)", line[begin:end], len(line)-end, offset, end)
}

// boundary returns the last position up to at where a character begins, or the end of the text.
func boundary(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

const (
	maxFound = 300 // the length of a line in the result of grep, in bytes
	before   = 100 // the bytes before a match in a long line
)

// around returns a line, or the part of a long line around a match.
func around(line string, match int) string {
	if len(line) <= maxFound {
		return line
	}
	begin := boundary(line, max(0, match-before))
	end := boundary(line, begin+maxFound)
	return fmt.Sprintf("%s (column %d of a line of %d bytes)", strings.TrimSpace(line[begin:end]), begin, len(line))
}
