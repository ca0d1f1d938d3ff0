package offline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A wish is what the rules understand of a request.
type wish struct {
	said                                              string
	search, scene, quote, order, price, recalls, acts bool
	again                                             bool     // "make it 6 instead"
	ids                                               []string // products that are named by id
	quoteID                                           string
	filters                                           filters
	quantity                                          int   // 0 if the request has none
	places                                            []int // "the second": 2; "the last": -1
	cheapest                                          bool
	every                                             bool     // "all of them"
	words                                             []string // what is left
	notes                                             []string // what was guessed
	parts                                             []wish   // of a request for several products, each with a number
}

var (
	productID = regexp.MustCompile(`\b[A-Z]{1,3}[0-9]{2,6}\b`)
	quoteID   = regexp.MustCompile(`\bQ-[0-9a-f]+\b`)
	searching = regexp.MustCompile(`\b(find|show|search|suggest|recommend|need|looking for|look for|want|list|compare|which|what|any|have you|tell)\b`)
	// The words of a wish are taken out of the request, so that what is left was not understood.
	scening   = regexp.MustCompile(`\b(?:3d|render(?:ing)?|visuali[sz]e|scenes?)\b`)
	ordered   = regexp.MustCompile(`\b(?:submit|place|make|order|buy) (?:the|this|that|my|an|last)(?: last)? (?:order|quote)\b`)
	ours      = regexp.MustCompile(`\b(?:my|our|the|an) orders?\b`) // is no request to order
	ordering  = regexp.MustCompile(`\b(?:order|buy|purchase|submit)\b`)
	quoting   = regexp.MustCompile(`\b(?:quote|quotation|offer)\b`)
	pricing   = regexp.MustCompile(`\b(?:how much(?: would| does| do| is| are)?|price of|prices?|costs?)\b`)
	sizing    = regexp.MustCompile(`\b(?:how (?:big|large|wide|tall|high|deep)|sizes?|dimensions?|measurements?)\b`)
	recalling = regexp.MustCompile(`\b(?:know|remember)\b.*\b(?:me|my|us|our|i)\b`)
	changing  = regexp.MustCompile(`\b(?:no,? )?(?:wait,? )?(?:make (?:it|that|them)|change (?:it|that|the quantity) to)\b|\b(?:instead|rather)\b`)
	everyone  = regexp.MustCompile(`\b(?:all|each|every|both|these|those|them|everything)\b`)
	cheapest  = regexp.MustCompile(`\b(?:cheapest|least expensive)\b`)
	ordinal   = regexp.MustCompile(`(\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|[0-9]+(?:st|nd|rd|th)|(?:number|no\.) ?[0-9]+)|# ?[0-9]+)\b(?: ones?\b)?`)
)

var number = regexp.MustCompile(`[0-9]+`)

var ordinals = []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

// understand reads a request for one thing, or for several products.
func (d *dialogue) understand(said string) wish {
	if w := d.several(said); len(w.parts) > 0 {
		return w
	}
	return d.understandOne(said)
}

func (d *dialogue) understandOne(said string) wish {
	w := wish{said: said, quoteID: quoteID.FindString(said)}
	text := quoteID.ReplaceAllString(said, " ")
	for _, id := range productID.FindAllString(text, -1) {
		if !d.missing(id) { // else it is a word, such as the name CH24
			w.ids = append(w.ids, id)
			text = strings.ReplaceAll(text, id, " ")
		}
	}
	text = withoutFacts(strings.ToLower(strings.ReplaceAll(text, "’", "'")))
	asks := searching.MatchString(text)
	if w.recalls = recalling.MatchString(text); w.recalls {
		return w
	}
	text = w.filters.measure(digits(text))
	text = w.intend(text)
	w.read(d.words, text)
	w.acts = w.scene || w.quote || w.order || w.again
	w.search = len(w.ids) == 0 && !w.again && (w.filters.any() || len(w.words) > 0 && (asks || w.price || w.acts || w.cheapest))
	return w
}

// intend takes what is to be done out of a text.
func (w *wish) intend(text string) string {
	take := func(form *regexp.Regexp) bool {
		found := form.MatchString(text)
		text = form.ReplaceAllString(text, " ")
		return found
	}
	w.scene = take(scening)
	w.order = take(ordered)
	mine := ours.FindString(text)
	text = ours.ReplaceAllString(text, " ")
	w.order = take(ordering) || w.order
	w.quote = take(quoting) && !w.order
	w.price = take(pricing)
	take(sizing) // each line has the size
	w.again, w.every = take(changing), take(everyone)
	w.cheapest = take(cheapest)
	for _, m := range ordinal.FindAllStringSubmatch(text, -1) {
		w.places = append(w.places, placeOf(m[1]))
	}
	return ordinal.ReplaceAllString(text, " ") + " " + mine
}

func placeOf(word string) int {
	for i, o := range ordinals {
		if word == o {
			return i + 1
		}
	}
	if word == "last" {
		return -1
	}
	n, _ := strconv.Atoi(number.FindString(word))
	return n
}

// negators are words that exclude the value after them, and links may stand between.
const (
	negators = " not no non without except excluding isn't aren't don't nothing never "
	links    = " in of made from a an any the want like need for please "
)

// read reads the words that are left one by one: values of the catalogue, what they exclude, and a quantity.
func (w *wish) read(v vocabulary, text string) {
	words := strings.FieldsFunc(text, separates)
	for i := 0; i < len(words); {
		word := words[i]
		if strings.Contains(negators, " "+word+" ") {
			if n := w.exclude(v, words[i+1:]); n > 0 {
				i += 1 + n
				continue
			}
		} else if value, n := v.at(words[i:]); n > 0 {
			w.filters.add(value)
			w.note(words[i:i+n], value)
			i += n
			continue
		} else if n, err := strconv.Atoi(word); err == nil && n > 0 && w.quantity == 0 && (w.quote || w.order || w.price || w.again || v.counts(words[i+1:])) {
			w.quantity = n
			i++
			continue
		}
		if !strings.Contains(fillers, " "+word+" ") {
			w.words = append(w.words, word)
		}
		i++
	}
}

// exclude takes the values after a negator, such as "leather or steel", and returns how many words they are.
func (w *wish) exclude(v vocabulary, words []string) (n int) {
	for i := 0; i < len(words); {
		value, m := v.at(words[i:])
		switch {
		case m > 0:
			w.filters.without = append(w.filters.without, value.word)
			w.note(words[i:i+m], value)
			i += m
			n = i
			if i < len(words) && (words[i] == "or" || words[i] == "nor") {
				i++
				continue
			}
			return n
		case !strings.Contains(links, " "+words[i]+" "):
			return n
		}
		i++
	}
	return n
}

// note says that a word was read as another one.
func (w *wish) note(said []string, read value) {
	if read.guessed {
		w.notes = append(w.notes, fmt.Sprintf("I read %q as %q.", strings.Join(said, " "), read.word))
	}
}

// fillers are words that say nothing about a product.
const fillers = ` a about actually also an and any anything are as at be but by can could do does eur euro euros find for from get give good
 have hello hey hi hmm i i'd i'm in is it it's its just like list look looking love make me my need now of ok okay on one ones or our out
 piece pieces please prefer product products put really recommend say see show so some something search suggest tell than thank thanks that
 the their then there they this to too up us want we well what what's which will with would yes you your m2 m² sqm
 compare design designs catalogue model generate create got buy item items wait hm eh um and/or each `
