package rules

import (
	"fmt"
	"regexp"
	"strings"
)

// blind finds words of questions that decide whether a quotation answers them, and that no rule understands.
var blind = regexp.MustCompile(`(?i)\b(?:how (?:many|much)|who|whom|whose|why|where|when|not|no|nobody|none|never|without|cannot|\pL+n['’]t)\b`)

// Quoted returns a quotation that was found by the words of a question. If the question has words such as "who" or
// "not", which rules do not understand, a sentence before the quotation says so.
func Quoted(question, quotation string) string {
	words := blind.FindAllString(strings.ToLower(question), -1)
	if len(words) == 0 {
		return quotation
	}
	return fmt.Sprintf("Rules do not understand \"%s\": this has the other words of your question.\n\n%s", strings.Join(words, `" and "`), quotation)
}
