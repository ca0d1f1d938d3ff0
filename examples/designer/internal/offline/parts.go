package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	// another begins the next product of a request: "and 2 of the J39".
	another = regexp.MustCompile(`(?i)(?:,|&|\band|\bplus)\s+((?:[0-9]+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\s+\S)`)
	// units stand behind a number that counts no products.
	units = regexp.MustCompile(`(?i)^\S+\s+(?:cm|mm|m|met(?:re|er)s?|€|eur|euros?)\b`)
)

// several reads a request for several products, of which the first has a number. For any other request the wish has no
// parts.
func (d *dialogue) several(said string) (w wish) {
	var texts []string
	begin := 0
	for _, m := range another.FindAllStringSubmatchIndex(said, -1) {
		if units.MatchString(said[m[2]:]) {
			return wish{}
		}
		texts, begin = append(texts, said[begin:m[0]]), m[2]
	}
	if len(texts) == 0 {
		return wish{}
	}
	w = d.understandOne(texts[0])
	if w.quantity == 0 || between.MatchString(strings.ToLower(said)) {
		return wish{}
	}
	w = wish{said: said, quote: w.quote, order: w.order, price: w.price, acts: w.acts, parts: []wish{w}}
	for _, text := range append(texts[1:], said[begin:]) {
		p := d.understandOne("quote " + text) // so that the number is a quantity
		p.quantity, p.acts = max(p.quantity, 1), w.acts
		w.parts = append(w.parts, p)
	}
	if slices.ContainsFunc(w.parts, func(p wish) bool {
		return p.scene || p.again || p.recalls || p.quoteID != "" || w.lists() && len(p.filters.values["category"]) == 0
	}) {
		return wish{}
	}
	return w
}

// lists reports whether a request for several products wants to see them only.
func (w wish) lists() bool { return !w.quote && !w.order && !w.price }

// part returns what the steps of this turn tell of a part of the request, and the step that it needs next.
func (d *dialogue) part(w wish) (p *dialogue, next step, ok bool) {
	p = &dialogue{tools: d.tools, words: d.words, facts: d.facts, shown: d.before, wanted: w}
	for {
		if next, ok = p.lookUp(); !ok {
			next, ok = p.search()
		}
		if !ok || !d.can(next.tool) {
			return p, step{}, false
		}
		at := slices.IndexFunc(d.steps, func(s step) bool { return s.tool == next.tool && same(s.arguments, next.arguments) })
		if at < 0 {
			return p, next, true
		}
		p.take(d.steps[at])
	}
}

// findParts looks for the products of the parts, one after the other.
func (d *dialogue) findParts() (step, bool) {
	for _, w := range d.wanted.parts {
		if _, next, ok := d.part(w); ok && !d.wanted.lists() {
			return next, true
		}
	}
	return step{}, false
}

// An item is a product and how many of it are wanted.
type item struct {
	product
	quantity int
}

// items returns the products of a quote. There are none if it is not clear which product a part means.
func (d *dialogue) items() (list []item) {
	if len(d.wanted.parts) == 0 {
		for _, p := range d.ready() {
			list = append(list, item{p, max(d.wanted.quantity, 1)})
		}
		return list
	}
	for _, w := range d.wanted.parts {
		p, _, _ := d.part(w)
		found := p.items()
		if len(found) == 0 {
			return nil
		}
		list = append(list, found...)
	}
	return list
}

// answerParts says what came of a request for several products.
func (d *dialogue) answerParts() string {
	if d.wanted.lists() {
		return "Ask for one kind of product at a time, such as: find oak chairs under 700."
	}
	var out []string
	for _, s := range d.steps {
		out = append(out, s.outcome()...)
	}
	if len(out) > 0 {
		var notes []string
		for _, w := range d.wanted.parts {
			notes = append(notes, w.notes...)
		}
		return paragraphs(append(notes, out...))
	}
	out = d.lacking()
	for _, w := range d.wanted.parts {
		out = append(out, d.aboutPart(w)...)
	}
	items := d.items()
	switch {
	case len(items) > 0 && d.wanted.price:
		out = append(out, sum(items)...)
	case len(items) > 0:
	case d.wanted.acts:
		out = append(out, "Nothing was quoted or ordered, because it is not clear which products are meant.")
	default:
		out = append(out, "There is no sum, because it is not clear which products are meant.")
	}
	return paragraphs(out)
}

// aboutPart says what was not understood of a part, and why it is not clear which product it means.
func (d *dialogue) aboutPart(w wish) []string {
	p, _, _ := d.part(w)
	out := append(slices.Clone(w.notes), p.misunderstood()...)
	if len(p.items()) > 0 {
		return out
	}
	if len(p.steps) > 0 && w.search {
		out = append(out, p.found()...)
	}
	if _, problem := p.chosen(); problem != "" && (p.all > 0 || !w.search) {
		out = append(out, problem)
	}
	return out
}

// sum tells the prices of products, and what they cost together.
func sum(items []item) (lines []string) {
	total := 0.0
	for _, i := range items {
		of := i.Price * float64(i.quantity)
		total += of
		lines = append(lines, fmt.Sprintf("- %d × %s %s at %s € = %s €", i.quantity, i.ID, i.Name, amountOf(i.Price), amountOf(of)))
	}
	return append(lines, fmt.Sprintf("Together: %s €.", amountOf(total)))
}
