package offline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// failures begin the sentence about a step that failed or that a person refused.
var failures = map[string]string{
	"search_products": "The catalogue was not searched", "generate3D": "The scene was not made",
	"createQuote": "The quote was not made", "submitOrder": "Nothing was ordered",
}

// answer says what came of the steps, and what was not understood.
func (d *dialogue) answer() string {
	if len(d.wanted.parts) > 0 {
		return d.answerParts()
	}
	var out []string
	for i, s := range d.steps {
		switch {
		case s.failed:
			out = append(out, s.outcome()...)
		case s.tool == "search_products" && i == d.lastSearch():
			out = append(out, d.found()...)
		case s.tool == "get_product":
			out = append(out, "- "+one(s.answer))
		default:
			out = append(out, s.outcome()...)
		}
	}
	if out = append(out, d.about()...); len(out) == 0 {
		out = append(out, d.nothingDone())
	}
	return paragraphs(slices.Concat(d.wanted.notes, d.misunderstood(), out))
}

// outcome says what came of an action.
func (s step) outcome() []string {
	switch {
	case s.failed && failures[s.tool] != "":
		return []string{failures[s.tool] + ": " + s.answer}
	case s.failed:
	case s.tool == "generate3D":
		return []string{fmt.Sprintf("The 3D scene %s is ready: %s", field(s.answer, "id"), field(s.answer, "url"))}
	case s.tool == "createQuote":
		return quoted(s.answer)
	case s.tool == "submitOrder":
		return []string{fmt.Sprintf("Order %s is submitted, of quote %s: %s €.", field(s.answer, "id"), field(s.answer, "quote_id"), field(s.answer, "total"))}
	}
	return nil
}

// misunderstood names the words that were not understood, and what follows from it.
func (d *dialogue) misunderstood() []string {
	words := d.strangers()
	if len(words) == 0 {
		return nil
	}
	line := "I did not understand " + quotedList(words)
	if d.all > 0 {
		line += ", and looked without " + map[bool]string{true: "it", false: "them"}[len(words) == 1]
	}
	if line += "."; d.wanted.acts {
		line += " So nothing was quoted, ordered or made."
	}
	return []string{line}
}

// paragraphs joins lines, with an empty line after a list, as Markdown needs it.
func paragraphs(lines []string) string {
	listed := func(line string) bool {
		return strings.HasPrefix(line, "- ") || strings.Contains(line[:min(4, len(line))], ". ")
	}
	var text strings.Builder
	for i, line := range lines {
		if i > 0 && listed(lines[i-1]) != listed(line) {
			text.WriteString("\n")
		}
		text.WriteString(line + "\n")
	}
	return strings.TrimSpace(text.String())
}

func (d *dialogue) lastSearch() int {
	for i, s := range slices.Backward(d.steps) {
		if s.tool == "search_products" {
			return i
		}
	}
	return -1
}

// found tells the products of the last search, and the conditions that they meet.
func (d *dialogue) found() (lines []string) {
	var asked []string
	f := d.wanted.filters
	if last, ok := d.did("search_products"); ok && d.all > 0 && d.named() != nil && same(last.arguments, d.named()) {
		asked = append(asked, quotedList(f.values["category"])+" in the name")
		f.values = maps.Clone(f.values)
		delete(f.values, "category")
	}
	if conditions := f.String(); conditions != "" {
		asked = append(asked, conditions)
	}
	if words := d.known(d.wanted.words); len(words) > 0 {
		asked = append(asked, "with "+quotedList(words))
	}
	conditions := strings.Join(asked, "; ")
	switch {
	case d.lost():
		return nil
	case d.all == 0:
		return []string{"Nothing in the catalogue fits: " + conditions + "."}
	case d.loose():
		lines = append(lines, fmt.Sprintf("No product fits all of that (%s). %s with %s:", conditions, products(d.all), quotedList(d.known(d.wanted.words))))
	case len(d.shown) < d.all:
		lines = append(lines, fmt.Sprintf("%s (%s); these are the cheapest %d:", products(d.all), conditions, len(d.shown)))
	default:
		lines = append(lines, fmt.Sprintf("%s (%s):", products(d.all), conditions))
	}
	for i, p := range d.shown {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, p))
	}
	if last, _ := d.did("search_products"); last.arguments["prefer"] != nil {
		lines = append(lines, fmt.Sprintf("What has %s is first, because I know that you like it.", last.arguments["prefer"]))
	}
	return lines
}

func products(n int) string {
	if n == 1 {
		return "1 product"
	}
	return fmt.Sprintf("%d products", n)
}

// about tells of the products that the request picks out, and why an action was not done.
func (d *dialogue) about() []string {
	w := d.wanted
	if list := d.lacking(); len(list) > 0 {
		return list
	}
	if len(d.strangers()) > 0 || w.search && d.all == 0 || d.acted() {
		return nil
	}
	if !w.tells() {
		return nil
	}
	list, problem := d.chosen()
	switch {
	case w.acts && d.loose():
		return []string{"Nothing was quoted, ordered or made, because this is not what you asked for."}
	case problem != "" && (w.acts || len(w.places) > 0):
		return []string{problem}
	case problem != "":
		return nil
	}
	return d.prices(list)
}

// tells reports whether a request asks for more than a list.
func (w wish) tells() bool {
	priced := w.price && (len(w.ids) == 0 || w.quantity > 0)
	return w.acts || priced || len(w.places) > 0 || w.cheapest
}

// lacking tells of each action of the request that the agent has no tool for.
func (d *dialogue) lacking() (lines []string) {
	w := d.wanted
	for _, action := range []struct {
		tool   string
		wanted bool
	}{{"generate3D", w.scene}, {"createQuote", w.quote || w.again}, {"submitOrder", w.order}} {
		if action.wanted && !d.can(action.tool) {
			lines = append(lines, failures[action.tool]+": this agent has no tool for it.")
		}
	}
	return lines
}

// acted reports whether the last step of this turn was an action.
func (d *dialogue) acted() bool {
	if len(d.steps) == 0 {
		return false
	}
	last := d.steps[len(d.steps)-1].tool
	return last == "generate3D" || last == "createQuote" || last == "submitOrder"
}

// prices tells the products that were picked, with the price of the quantity that was asked for.
func (d *dialogue) prices(list []product) (lines []string) {
	w := d.wanted
	searched := w.search && len(w.places) == 0 && !w.cheapest
	for _, p := range list {
		switch {
		case w.quantity > 0:
			lines = append(lines, fmt.Sprintf("- %d × %s %s at %s € = %s €", w.quantity, p.ID, p.Name, amountOf(p.Price), amountOf(p.Price*float64(w.quantity))))
		case !searched && len(w.ids) == 0:
			lines = append(lines, "- "+p.String())
		}
	}
	if w.cheapest && len(lines) > 0 {
		name := "The cheapest"
		if !w.search {
			name += fmt.Sprintf(" of the %d that I showed", len(d.shown))
		}
		lines = append([]string{name + ":"}, lines...)
	}
	return lines
}

func (p product) String() string {
	d := p.Details
	by := strings.Join(slices.DeleteFunc([]string{d.Designer, d.Maker}, func(s string) bool { return s == "" }), ", ")
	of := strings.Join(slices.DeleteFunc([]string{d.Material, d.Colour, d.Style}, func(s string) bool { return s == "" }), ", ")
	text := p.ID + " " + p.Name
	if by != "" {
		text += " by " + by
	}
	if of != "" {
		text += " (" + of + ")"
	}
	if d.Size != "" {
		text += ", " + d.Size + " cm"
	}
	return fmt.Sprintf("%s: %s € a %s", text, amountOf(p.Price), map[bool]string{true: "piece", false: d.Unit}[d.Unit == ""])
}

func one(answer string) string {
	var p product
	if json.Unmarshal([]byte(answer), &p) != nil {
		return answer
	}
	return p.String()
}

func quoted(answer string) []string {
	var q struct {
		ID    string `json:"id"`
		Lines []struct {
			Name     string  `json:"name"`
			Quantity int     `json:"quantity"`
			Price    float64 `json:"price"`
		} `json:"lines"`
		Total float64 `json:"total"`
	}
	if json.Unmarshal([]byte(answer), &q) != nil {
		return []string{answer}
	}
	lines := []string{"Quote " + q.ID + ":"}
	for _, l := range q.Lines {
		lines = append(lines, fmt.Sprintf("- %d × %s at %s €", l.Quantity, l.Name, amountOf(l.Price)))
	}
	return append(lines, "Total: "+amountOf(q.Total)+" €.")
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

func field(answer, name string) string {
	var all map[string]any
	if json.Unmarshal([]byte(answer), &all) != nil {
		return "?"
	}
	if n, ok := all[name].(float64); ok {
		return amountOf(n)
	}
	return fmt.Sprint(all[name])
}

// nothingDone answers a request that no tool was called for.
func (d *dialogue) nothingDone() string {
	switch {
	case d.wanted.recalls && len(d.facts) == 0:
		return "I know nothing about you yet."
	case d.wanted.recalls:
		return "I know this about you:\n- " + strings.Join(d.facts, "\n- ")
	case len(Facts(d.wanted.said)) > 0 && len(d.strangers()) == 0:
		return "Thank you, I will remember that."
	}
	return "Rules answer here, and no language model. Try: find oak chairs under 700; a sofa, but not leather; how much is the " +
		"Barcelona chair; quote 4 of the second; make a 3D scene of all of them. With a key in the environment a model answers."
}
