package offline

import (
	"regexp"
	"strings"
	"unicode"
)

// noise matches text that is never quoted: code, and comments of HTML.
var noise = regexp.MustCompile("(?s)```.*?(?:```|$)|<!--.*?-->")

// statements splits a passage into parts to quote: sentences, and rows of tables with the names of the
// columns. Lines of CSV are a table. If the first row of a table has a digit, it is no list of names: the
// passage begins in the middle of the table.
func statements(text string, isCSV bool) (list []string) {
	paragraph, names, row := "", "", 0
	flush := func() {
		list = append(list, sentences(paragraph)...)
		paragraph = ""
	}
	for line := range strings.Lines(noise.ReplaceAllString(text, "")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.ContainsAny(line[:1], "#|-*") || isCSV {
			flush()
		}
		switch {
		case line != "" && isCSV, strings.HasPrefix(line, "|"):
			row++
			if row == 1 && !strings.ContainsFunc(line, unicode.IsDigit) {
				names = line + "\n"
			} else if !strings.HasPrefix(line, "| ---") {
				list = append(list, names+line)
			}
			continue
		case !strings.HasPrefix(line, "#"):
			paragraph += line + " "
		}
		names, row = "", 0
	}
	flush()
	return list
}
