package offline

import (
	"regexp"
	"strings"
	"unicode"
)

// noise matches text that is never quoted: code, and comments of HTML.
var noise = regexp.MustCompile("(?s)```.*?(?:```|$)|<!--.*?-->")

// statements cuts a passage into what can be quoted: a sentence, or a row of a table below the names of its columns.
// Lines of CSV are a table. If its first row has a digit, the passage is from the middle of a file, and lacks the names.
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
