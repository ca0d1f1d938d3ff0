package rules

import (
	"fmt"
	"regexp"
	"strings"
)

// blind matches words that decide whether a quotation answers a question, and that no rule
// understands.
var blind = regexp.MustCompile(`(?i)\b(?:how (?:many|much)|who|whom|whose|why|where|when|not|no|nobody|none|never|without|cannot|\pL+n['’]t)\b`)

// Quoted returns a quotation that a search by the words of a question has found. If the question
// has words such as "who" or "not", which rules do not understand, the result begins with a
// sentence that says so.
func Quoted(question, quotation string) string {
	words := blind.FindAllString(strings.ToLower(question), -1)
	if len(words) == 0 {
		return quotation
	}
	return fmt.Sprintf("Rules do not understand \"%s\": this has the other words of your question.\n\n%s", strings.Join(words, `" and "`), quotation)
}
