package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const help = "Rules answer here, and no language model. They understand, for example: find oak chairs under 700; a sofa, but not " +
	"leather; how much is the Barcelona chair; quote 4 of the second; make a 3D scene of all of them. With a key in the environment " +
	"a model answers."

// failures has the start of the sentence about a call that failed, was refused, or has no tool.
var failures = map[string]string{
	"search_products": "The catalogue was not searched", "generate3D": "The scene was not made",
	"createQuote": "The quote was not made", "submitOrder": "Nothing was ordered",
}

// answer returns the results of the steps as text, or the reason why there are none.
func (d *dialogue) answer() string {
	w := d.wanted
	switch words := d.strange(); {
	case len(words) > 0:
		return "I did not understand " + quotedList(words) + ". " + help
	case d.lacks(w.tool):
		return failures[w.tool] + ": this agent has no tool for it."
	case w.recalls && len(d.facts) == 0:
		return "I know nothing about you yet."
	case w.recalls:
		return "I know this about you:\n- " + strings.Join(d.facts, "\n- ")
	}
	parts := d.told()
	if len(Facts(w.said)) > 0 {
		parts = append(parts, "Thank you, I will remember that.")
	}
	return cmp.Or(strings.Join(parts, "\n\n"), help)
}

// told returns texts about the results of the steps.
func (d *dialogue) told() []string {
	w := d.wanted
	var parts []string
	searches := w.products.searches()
	for i, s := range d.steps { // the searches come first
		switch conditions := searches[min(i, len(searches)-1)]; {
		case s.tool != "search_products" || s.failed:
			parts = append(parts, s.outcome())
		case len(s.result.Products) > 0:
			parts = []string{d.list(w.products.tell(conditions), s.result)}
		default:
			parts = []string{"No product fits all of this: " + w.products.tell(searches[0]) + "."}
		}
	}
	if searched := w.products.any(); !searched && len(d.steps) == 0 || searched && d.found() && len(parts) == 1 {
		parts = append(parts, d.picked()...)
	}
	return parts
}

// list returns a text of the products that a search found and the conditions that they meet.
func (d *dialogue) list(conditions string, found result) string {
	text := fmt.Sprintf("%s (%s)", products(found.All), conditions)
	if len(found.Products) < found.All {
		text += fmt.Sprintf("; these are %d of them", len(found.Products))
	}
	text += ":\n"
	for i, p := range found.Products {
		text += fmt.Sprintf("\n%d. %s", i+1, p)
	}
	of := found.Products[0].Details
	for _, word := range d.liked() {
		if !d.wanted.products.cheapest && slices.Contains([]string{of.Material, of.Colour, of.Style}, word) {
			text += "\n\nWhat has " + word + " is first, because I know that you like it."
		}
	}
	return text
}

// outcome returns a text about the result of a call that changes something, or about a failed call.
func (s step) outcome() string {
	r := s.result
	switch {
	case s.failed:
		return failures[s.tool] + ": " + s.text
	case s.tool == "generate3D":
		return fmt.Sprintf("The 3D scene %s is ready: %s", r.ID, r.URL)
	case s.tool == "submitOrder":
		return fmt.Sprintf("Order %s is submitted, of quote %s: %s €.", r.ID, r.QuoteID, amountOf(r.Total))
	}
	text := "Quote " + r.ID + ":\n"
	for _, l := range r.Lines {
		text += fmt.Sprintf("\n- %d × %s at %s €", l.Quantity, l.Name, amountOf(l.Price))
	}
	return text + "\n\nTotal: " + amountOf(r.Total) + " €."
}

// picked returns lines about the products that the request picks from a list, or the reason why they are not clear.
func (d *dialogue) picked() []string {
	w := d.wanted
	if w.tool+w.pronoun == "" && w.quantity+w.place == 0 && !w.products.cheapest {
		return nil
	}
	list, problem := d.chosen()
	if problem != "" {
		return []string{problem}
	}
	var lines []string
	if w.products.cheapest {
		lines = append(lines, fmt.Sprintf("The cheapest of the %d that I showed:", len(d.shown)))
	}
	for _, p := range list {
		line := "- " + p.String()
		if w.quantity > 0 {
			line = fmt.Sprintf("- %d × %s %s at %s € = %s €", w.quantity, p.ID, p.Name, amountOf(p.Price), amountOf(p.Price*float64(w.quantity)))
		}
		lines = append(lines, line)
	}
	return lines
}

func (p product) String() string {
	d := p.Details
	text := p.ID + " " + p.Name
	if by := joined(d.Designer, d.Maker); by != "" {
		text += " by " + by
	}
	if of := joined(d.Material, d.Colour, d.Style); of != "" {
		text += " (" + of + ")"
	}
	if d.Size != "" {
		text += ", " + d.Size + " cm"
	}
	return text + ": " + amountOf(p.Price) + " € a " + cmp.Or(d.Unit, "piece")
}

// joined joins the texts that are not empty with commas.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}

func products(n int) string {
	if n == 1 {
		return "1 product"
	}
	return fmt.Sprintf("%d products", n)
}

// amountOf writes an amount with a comma between thousands.
func amountOf(v float64) string {
	whole, cents, _ := strings.Cut(strconv.FormatFloat(v, 'f', 2, 64), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if cents == "00" {
		return whole
	}
	return whole + "." + cents
}
