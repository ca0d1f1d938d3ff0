package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A wish is a request as the rules understand it: the products, and the action on them.
type wish struct {
	said     string
	tool     string // the tool for the action; "" if there is no action
	products description
	quantity int    // 0 if the request has none
	place    int    // "the second" of a list is 2
	pronoun  string // one of pronouns
	quoteID  string // "Q-1a" in "order Q-1a", or the last quote in "order it"
	recalls  bool   // "what do you know about me?"
}

const number = `[1-9][0-9]{0,4}|one|two|three|four|five|six|seven|eight|nine|ten`

var (
	// token is a word, an amount, or a character that is neither. The marks of a sentence are left out.
	token = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)+|[\p{L}\p{N}'-]+|[^\s.?!:;]`)
	// acting matches a request to do something with products. Its groups are a description of products, the verb, a
	// quantity and the target of the verb.
	acting = regexp.MustCompile(`^(?:(?:(.*?) )?(?:,|and|then|ok|please) )??` +
		`(quote|order|make a 3d scene of|how much (?:is|are|would|does)|how big is)` +
		`(?: me)?(?: (` + number + `))?(?: of)?(?: the)? (.+?)(?: cost)?(?:(?: ,)? and how big is it)?$`)
)

// toolOf maps verbs to tools. A list of products answers the other verbs.
var toolOf = map[string]string{"quote": "createQuote", "order": "submitOrder", "make a 3d scene of": "generate3D"}

var pronouns = []string{"it", "them", "all of them"}

var ordinals = strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth")

// understand reads a request. The words that it does not understand are in products.strange.
func understand(v vocabulary, said string) wish {
	w := wish{said: said, products: description{args: map[string]any{}}}
	text := strings.ToLower(strings.ReplaceAll(withoutFacts(said), "’", "'"))
	text = strings.Join(token.FindAllString(text, -1), " ")
	if w.recalls = text == "what do you know about me"; w.recalls {
		return w
	}
	if text == "which of those is the cheapest" {
		text = "the cheapest"
	}
	p := &w.products
	m := acting.FindStringSubmatch(text)
	if m != nil {
		p.read(v, m[1])
		w.tool, w.quantity = toolOf[m[2]], count(m[3])
		w.aim(v, m[4])
	} else {
		p.read(v, text)
	}
	goesOn := m == nil && strings.HasPrefix(text, "and ") ||
		p.any() && p.args["category"] == nil && p.args["query"] == nil // "under 700" may mean products of an earlier list
	if goesOn || w.tool == "generate3D" && w.quantity > 0 {
		p.strange = strings.Fields(text) // the whole request is not understood
	}
	return w
}

// aim reads the target of a verb. After a description of products, aim only understands an ordinal, a pronoun or
// "cheapest".
func (w *wish) aim(v vocabulary, target string) {
	p := &w.products
	place := slices.Index(ordinals, strings.TrimSuffix(target, " one"))
	switch {
	case p.cheapest, p.any() && place < 0 && !slices.Contains(pronouns, target) && target != "cheapest":
		p.strange = append(p.strange, strings.Fields(target)...)
	case place >= 0:
		w.place = place + 1
	case slices.Contains(pronouns, target):
		w.pronoun = target
	case w.tool == "submitOrder" && w.quantity == 0 && strings.HasPrefix(target, "q-"):
		w.quoteID = "Q" + target[1:]
	default:
		p.read(v, target)
	}
}

// count reads a number. It returns 0 for any other word.
func count(word string) int {
	if i := slices.Index(strings.Split(number, "|"), word); i > 0 {
		return i
	}
	n, _ := strconv.Atoi(word) // 0 if word is not a number
	return n
}
