package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A wish is what the words of a request ask for.
type wish struct {
	said                                 string
	search, scene, quote, order, recalls bool
	ids                                  []string // products that are named
	quoteID                              string
	category, material, colour, style    string
	maxPrice                             float64
	quantity                             int
	words                                []string // what is left
	place                                int      // "the second": 2
	every                                bool     // "all of them"
}

var (
	productID = regexp.MustCompile(`\b[A-Z]{1,3}[0-9]{2,6}\b`)
	quoteID   = regexp.MustCompile(`\bQ-[0-9a-f]+\b`)
	price     = regexp.MustCompile(`(?i)(?:under|below|up to|less than|at most|cheaper than|max(?:imum)?)\s*(?:of\s*)?(?:€|eur\b|euros?\b)?\s*([0-9][0-9.,]*)\s*(?:€|eur\b|euros?\b)?`)
	number    = regexp.MustCompile(`\b[0-9]{1,5}\b`)
	searching = regexp.MustCompile(`(?i)\b(find|show|search|suggest|recommend|need|look(?:ing)? for|want|list|compare|which|what|any|have you)\b`)
	scening   = regexp.MustCompile(`(?i)\b(3d|render|visuali[sz]e|scene|model)\b`)
	quoting   = regexp.MustCompile(`(?i)\b(quote|quotation|offer|price for)\b`)
	ordering  = regexp.MustCompile(`(?i)\b(order|buy|purchase|submit)\b`)
	recalling = regexp.MustCompile(`(?i)\b(know|remember)\b.*\b(me|my|us|our|i)\b`)
	everyone  = regexp.MustCompile(`(?i)\b(all|each|every|both|these|those|them)\b`)
)

// fillers are words that say nothing about a product.
const fillers = ` a about above an and any are as at be below by can could do each euro euros every first for from get give have
 hello hi how i in is it its just like looking make me more most my need of on one or order our out please piece pieces prefer price
 put quote room scene second send show some something submit suggest recommend search find that the their them then there these third
 they this those to under up us want we what which with would you your 3d render visualise visualize buy less than max maximum
 list compare both all product products catalogue offer model generate create got also too costs cost eur last `

func (d *dialogue) understand(said string) wish {
	w := wish{
		said: said, quantity: 1, quoteID: quoteID.FindString(said), ids: productID.FindAllString(said, -1),
		scene: scening.MatchString(said), quote: quoting.MatchString(said) && quoteID.FindString(said) == "",
		order: ordering.MatchString(said), recalls: recalling.MatchString(said), every: everyone.MatchString(said),
	}
	rest := w.numbers(productID.ReplaceAllString(quoteID.ReplaceAllString(said, " "), " "))
	w.category, rest = pick(rest, d.words.categories)
	w.material, rest = pick(rest, d.words.materials)
	w.colour, rest = pick(rest, d.words.colours)
	w.style, rest = pick(rest, d.words.styles)
	w.words = telling(rest)
	filters := w.category != "" || w.material != "" || w.colour != "" || w.style != ""
	acts := w.scene || w.quote || w.order
	asks := searching.MatchString(said)
	w.search = !w.recalls && len(w.ids) == 0 && (filters && (asks || len(Facts(said)) == 0) || asks && len(w.words) > 0 && !acts)
	return w
}

// numbers takes the highest price, the quantity and the place out of a text.
func (w *wish) numbers(text string) (rest string) {
	if m := price.FindStringSubmatch(text); m != nil {
		w.maxPrice, _ = strconv.ParseFloat(strings.ReplaceAll(strings.Trim(m[1], ".,"), ",", ""), 64)
		text = strings.Replace(text, m[0], " ", 1)
	}
	text = strings.ReplaceAll(strings.ToLower(text), "3d", " ")
	if n, err := strconv.Atoi(number.FindString(text)); err == nil && n > 0 {
		w.quantity = n
		text = strings.Replace(text, number.FindString(text), " ", 1)
	}
	for i, word := range []string{"first", "second", "third"} {
		if strings.Contains(text, word) {
			w.place = i + 1
		}
	}
	return text
}

// telling returns the words of a text that may say something about a product.
func telling(text string) (words []string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > 1 && !strings.Contains(fillers, " "+word+" ") {
			words = append(words, word)
		}
	}
	return words
}

// pick takes the longest word of a list out of a text, in the singular or the plural.
func pick(text string, words []string) (picked, rest string) {
	words = slices.Clone(words)
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	for _, word := range words {
		form := regexp.MustCompile(`\b` + regexp.QuoteMeta(strings.TrimSuffix(strings.ToLower(word), "f")) + `(?:f|ves|e?s)?\b`)
		if at := form.FindStringIndex(text); at != nil && word != "" {
			return word, text[:at[0]] + " " + text[at[1]:]
		}
	}
	return "", text
}
