package offline

import (
	"encoding/csv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	// greeting is what may stand before a request.
	greeting = `(?:(?:hi|hello|hey|ok|okay|well|please|now|and|also|can you|could you)[,!.]* +)*`
	account  = `(?:plan|tier|subscription|usage|quota|limits?|settings|preferences|account)`
	// A request not to store something has a negation, a verb, and the object or the end of the sentence.
	never = `(?:do not|don['’]?t|never|no need to)`
	keep  = `(?:remember|store|save|keep|record|note|learn|memori[sz]e)`
	keeps = `(?:remembered|stored|saved|kept|recorded)`
	kept  = `(?: +(?:this|that|these|those|it|them|any of|anything|my|the)\b| *(?:[.!?;)]|$))`
)

var (
	// asks are messages that want to know something.
	asks = regexp.MustCompile(`(?i)\?\s*$|^(?:who|what|when|where|why|which|how|is|are|am|do|does|did|can|could|may|should|will|would|search|find|look up|tell|show|explain|recall|list)\b`)
	// orders are messages that want something kept.
	orders = regexp.MustCompile(`(?i)^` + greeting + `(?:remember|note|keep in mind|do not forget|don't forget)(?: please)?(?: that|:|,)? (.+)$`)
	// ordersThat are messages that say so afterwards, after a stop, "and" or "please".
	ordersThat = regexp.MustCompile(`(?i)^` + greeting + `(.+?)(?: *[,;:.!–—-]+ +(?:and )?(?:please )?| and (?:please )?| please )(?:remember|note|keep in mind|do not forget|don't forget) (?:that|this|it)(?: please)?$`)
	// unfinished are words that say nothing without the verb after them.
	unfinished = regexp.MustCompile(`(?i)^(?:that|this|it|try)$|\b(?:you|should|must|will|would|can|could|to|not|do|did|\w+n['’]t|also|always)$`)
	// declines finds a request not to store something. A group has the words that the answer repeats.
	declines = regexp.MustCompile(`(?i)(?:^|[-.!?;:,(–—] *|\b(?:but|and|so|please) +)` + greeting + `(` + never + ` +(?:ever +|even +)?` + keep + `)` + kept +
		`|\b((?:please|(?:can|could|would) you(?: please)?|you (?:must|should|may)) +not +` + keep + `)` + kept +
		`|\b(` + never + ` +want +you +to +` + keep + `|rather +you +(?:did not|didn['’]?t) +` + keep + `)` + kept +
		`|\b((?:must|should|may|to) not be ` + keeps + `|(?:do not|don['’]?t) want (?:this|that|it) ` + keeps + `|without storing)\b` +
		`|\b(off the record)\b|\b(between (?:us|you and me)) *(?:[.,!?;]|$)|\bkeep +(?:this|that|it) +(to yourself)\b`)
	// ofHome finds a question about the user's home. The facts about moves are looked for too.
	ofHome = regexp.MustCompile(`(?i)\bwhere (?:do|did) i live\b|\bmy (?:home|address)\b`)
	// forgets are messages that want something forgotten, and everything is all of it.
	forgets    = regexp.MustCompile(`(?i)^` + greeting + `(?:forget|delete|erase|remove)\b(?: what you know)?(?: about)?(.*)$`)
	everything = regexp.MustCompile(`(?i)^ *(?:everything|all)\b(?: of it| that)?(?: you know| you remember| you have)?(?: (?:about|on|of) me)?[ .!?]*$|^ *(?:about )?me[ .!?]*$`)
	// ofAccount are questions about plan, usage and preferences.
	ofAccount = regexp.MustCompile(`(?i)\b(?:my|me|i)\b.*\b` + account + `\b|\b` + account + `\b.*\b(?:my|me|i)\b`)
	// ofDocuments are questions that the documents are to answer.
	ofDocuments = regexp.MustCompile(`(?i)\b(?:documents|handbook)\b|\bsearch the\b`)
	// ofUser are questions about the user, except how to do something.
	ofUser = regexp.MustCompile(`(?i)\b(?:my|mine|me|myself)\b|\b(?:am|was|were|did|do|have|had|should) i\b|\bremember\b`)
	howTo  = regexp.MustCompile(`(?i)^how (?:do|can|could|should|would|may) i\b`)
	// ofAll are questions about all that is known of the user.
	ofAll     = regexp.MustCompile(`(?i)\b(?:know|remember|learned|have) about me\b|\bwho am i\b`)
	reference = regexp.MustCompile(`(?is)<passage number="\d+" source="([^"]*)"(?: title="[^"]*")?(?: section="([^"]*)")?[^>]*>\n(.*?)\n</passage>`)
	entities  = strings.NewReplacer("&quot;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// ended finds the end of a sentence.
var ended = regexp.MustCompile(`[.!?]+ `)

// mostStops is how many sentences are looked at for a question, so that a long message takes little time.
const mostStops = 50

// toRemember returns what the user wants to be kept, as the user says it, and the question after it, if there is one. A
// stop before it may belong to an abbreviation.
func toRemember(message string) (fact, rest string, ok bool) {
	for _, at := range ended.FindAllStringIndex(message, mostStops) {
		after := message[at[1]:]
		if fact, ok := order(message[:at[1]-1]); ok && asks.MatchString(strings.TrimRight(after, "? ")) {
			return fact, after, true
		}
	}
	fact, ok = order(message)
	return fact, "", ok
}

// order returns what a message wants to be kept.
func order(message string) (fact string, ok bool) {
	if strings.HasSuffix(message, "?") {
		return "", false
	}
	message = strings.TrimRight(message, " .!")
	for _, form := range []*regexp.Regexp{orders, ordersThat} {
		if found := form.FindStringSubmatch(message); found != nil && !unfinished.MatchString(found[1]) {
			return found[1], true
		}
	}
	return "", false
}

// declined returns the words with which a message asks not to store something. "I never save money" does not ask.
func declined(message string) string {
	found := declines.FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	return strings.Join(found[1:], "") // one group has text
}

var (
	first = regexp.MustCompile(`(?i)\bI(?: am|'m|’m| was)\b|\bim\b|\b(?:I|me|my|mine|myself)\b`)
	you   = map[string]string{
		"i am": "you are", "i'm": "you are", "im": "you are", "i’m": "you are", "i was": "you were",
		"i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself",
	}
)

// toYou turns what the user says of themselves into what is said to the user.
func toYou(text string) string {
	return first.ReplaceAllStringFunc(text, func(word string) string { return you[strings.ToLower(word)] })
}

// topic returns what the user wants to be forgotten, in words, and whether it is everything.
func topic(message string) (words []string, all, ok bool) {
	found := forgets.FindStringSubmatch(message)
	if found == nil {
		return nil, false, false
	}
	if everything.MatchString(found[1]) {
		return nil, true, true
	}
	clause, _, _ := strings.Cut(found[1], ",")
	clause, _, _ = strings.Cut(clause, ". ")
	set := wordsOf(clause)
	for word := range amounts {
		delete(set, word)
	}
	return slices.Sorted(maps.Keys(set)), false, true
}

// amounts are words of a request to forget that are in no fact.
var amounts = wordSet("all any anything every everything know remember")

// records are the rows of a CSV file with the names of the columns. The first row has the names, unless it has a digit:
// then the passage is from the middle of the file, and the rows have no names.
func records(text string) (list []string) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		return sentences(text)
	}
	head := rows[0]
	if slices.ContainsFunc(head, func(cell string) bool { return strings.ContainsFunc(cell, unicode.IsDigit) }) {
		head = nil
	} else {
		rows = rows[1:]
	}
	for _, row := range rows {
		cells := slices.Clone(row)
		for i := range cells {
			if head != nil {
				cells[i] = head[i] + ": " + cells[i]
			}
		}
		list = append(list, strings.Join(cells, "; "))
	}
	return list
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
var common = wordSet("a an and are at be by can did do does for from has have how i in is it its me my of on or that the this to was what when where which who why will with you your please tell find search documents about say there much many long take s he she her him his they them their we us our am had been must should would shall happen")

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 3 && !strings.HasSuffix(w, "ss") { // so that plurals fit
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
