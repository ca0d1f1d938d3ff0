package offline

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
)

var (
	// asks are messages that want to know something.
	asks = regexp.MustCompile(`(?i)\?\s*$|^(?:who|what|when|where|why|which|how|is|are|am|do|does|did|can|could|may|should|will|would|search|find|look up|tell|show|explain|recall|list)\b`)
	// orders are messages that want something kept.
	orders = regexp.MustCompile(`(?i)^(?:please,? |can you |could you |and )*(?:remember|note|keep in mind|do not forget|don't forget)(?: please)?(?: that|:|,)? (.+)$`)
	// ofAccount are questions about plan, usage and preferences.
	ofAccount = regexp.MustCompile(`(?i)\b(?:my|me|i)\b.*\b(?:plan|tier|subscription|usage|quota|limits?|settings|preferences|account)\b`)
	// ofUser are questions about the user, except how to do something.
	ofUser = regexp.MustCompile(`(?i)\b(?:my|mine|me|myself)\b|\b(?:am|was|were|did|do|have|had|should) i\b|\bremember\b`)
	howTo  = regexp.MustCompile(`(?i)^how (?:do|can|could|should|would|may) i\b`)
	// ofAll are questions about all that is known of the user.
	ofAll     = regexp.MustCompile(`(?i)\b(?:know|remember|learned|have) about me\b|\bwho am i\b`)
	reference = regexp.MustCompile(`(?is)<passage number="\d+" source="([^"]*)"(?: title="[^"]*")?(?: section="([^"]*)")?[^>]*>\n(.*?)\n</passage>`)
	entities  = strings.NewReplacer("&quot;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// toRemember returns what the user wants to be kept, as the user says it.
func toRemember(message string) (string, bool) {
	found := orders.FindStringSubmatch(message)
	if found == nil || strings.HasSuffix(message, "?") {
		return "", false
	}
	return strings.TrimRight(found[1], " .!"), true
}

var (
	first = regexp.MustCompile(`(?i)\bI(?: am|'m|’m| was)\b|\b(?:I|me|my|mine|myself)\b`)
	you   = map[string]string{
		"i am": "you are", "i'm": "you are", "i’m": "you are", "i was": "you were",
		"i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself",
	}
)

// toYou turns what the user says of themselves into what is said to the user.
func toYou(text string) string {
	return first.ReplaceAllStringFunc(text, func(word string) string { return you[strings.ToLower(word)] })
}

const maxFacts = 5

// remembered are the facts of an answer of recall_memory.
func remembered(answer string) (facts []string) {
	for line := range strings.Lines(answer) {
		var f struct {
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(line), &f) == nil && f.Content != "" && len(facts) < maxFacts {
			facts = append(facts, toYou(f.Content))
		}
	}
	return facts
}

// maxQuote is how long a quotation may be.
const maxQuote = 500

// quote answers with the sentence of the passages that has the most words of the question,
// and says where it stands. One that is long has to have more, and a passage that was found before
// another wins if both have as many.
func quote(question, passages string) string {
	best, where := "", ""
	asked := wordsOf(question)
	least, most := min(2, len(asked)), 0.0 // of several words one alone is chance
	for _, p := range reference.FindAllStringSubmatch(passages, -1) {
		for _, sentence := range sentences(p[3]) {
			n := 0
			for word := range wordsOf(sentence + " " + p[2]) {
				if asked[word] {
					n++
				}
			}
			if score := float64(n) / (1 + float64(len(sentence))/maxQuote); n >= least && score > most {
				most, best, where = score, sentence, p[1]
				if p[2] != "" {
					where += ", " + p[2]
				}
			}
		}
	}
	if best == "" {
		return "The documents say nothing about this."
	}
	if runes := []rune(best); len(runes) > maxQuote {
		best = string(runes[:maxQuote]) + "…"
	}
	return best + " (" + entities.Replace(where) + ")"
}

// noise is what is not to be quoted: code, and what HTML does not show.
var noise = regexp.MustCompile("(?s)```.*?(?:```|$)|<!--.*?-->")

// sentences are those of a text; a short one has the next one with it. A line of a list or a
// table stands for itself, and headings are left out.
func sentences(text string) (out []string) {
	paragraph := ""
	flush := func() {
		all := strings.SplitAfter(strings.Join(strings.Fields(paragraph), " "), ". ")
		for i := 0; i < len(all); i++ {
			one := all[i]
			for len(one) < 80 && i+1 < len(all) {
				i++
				one += all[i]
			}
			if one = strings.TrimSpace(one); one != "" {
				out = append(out, one)
			}
		}
		paragraph = ""
	}
	for line := range strings.Lines(noise.ReplaceAllString(text, "")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.ContainsAny(line[:1], "#|-*") {
			flush()
		}
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "| ---") {
			paragraph += line + " "
		}
		if strings.HasPrefix(line, "|") {
			flush()
		}
	}
	flush()
	return out
}

// common are words that say little about what is asked.
var common = wordSet("a an and are at be by can did do does for from has have how i in is it its me my of on or that the this to was what when where which who why will with you your please tell find search documents about say there")

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 3 { // so that plurals fit
			w = strings.TrimSuffix(w, "s")
		}
		set[w] = true
	}
	return set
}

func wordsOf(text string) map[string]bool {
	set := wordSet(text)
	for w := range common {
		delete(set, w)
	}
	return set
}
