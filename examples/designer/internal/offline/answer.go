package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// answer says what came of the steps.
func (d *dialogue) answer() string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i, s := range d.steps {
		switch {
		case s.failed:
			say("%s was not done: %s", s.tool, s.answer)
		case s.tool == "search_products" && i == d.lastSearch():
			out = append(out, d.found()...)
		case s.tool == "get_product":
			out = append(out, "- "+one(s.answer))
		case s.tool == "generate3D":
			say("The 3D scene %s is ready: %s", field(s.answer, "id"), field(s.answer, "url"))
		case s.tool == "createQuote":
			out = append(out, quoted(s.answer)...)
		case s.tool == "submitOrder":
			say("Order %s is submitted, of quote %s: %s €.", field(s.answer, "id"), field(s.answer, "quote_id"), field(s.answer, "total_eur"))
		}
	}
	if len(out) == 0 {
		return d.nothingDone()
	}
	var text strings.Builder
	for i, line := range out {
		if i > 0 && strings.HasPrefix(out[i-1], "- ") && !strings.HasPrefix(line, "- ") {
			text.WriteString("\n") // the end of a list in Markdown
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

func (d *dialogue) found() (lines []string) {
	if d.all == 0 {
		return []string{"Nothing in the catalogue fits that."}
	}
	lines = append(lines, fmt.Sprintf("%d of %d that fit:", len(d.shown), d.all))
	for _, p := range d.shown {
		lines = append(lines, "- "+p.String())
	}
	if liked := d.preferred(); len(liked) > 0 {
		lines = append(lines, "I looked for "+strings.Join(liked, ", ")+" first, as I know that you like it.")
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
	return fmt.Sprintf("%s: %s € a %s", text, money(p.Price), map[bool]string{true: "piece", false: d.Unit}[d.Unit == ""])
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
			Price    float64 `json:"price_eur"`
		} `json:"lines"`
		Total float64 `json:"total_eur"`
	}
	if json.Unmarshal([]byte(answer), &q) != nil {
		return []string{answer}
	}
	lines := []string{"Quote " + q.ID + ":"}
	for _, l := range q.Lines {
		lines = append(lines, fmt.Sprintf("- %d × %s at %s €", l.Quantity, l.Name, money(l.Price)))
	}
	return append(lines, "Total: "+money(q.Total)+" €.")
}

func money(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func field(answer, name string) string {
	var all map[string]any
	if json.Unmarshal([]byte(answer), &all) != nil {
		return "?"
	}
	if n, ok := all[name].(float64); ok {
		return money(n)
	}
	return fmt.Sprint(all[name])
}

// nothingDone answers a request that no tool was called for.
func (d *dialogue) nothingDone() string {
	w := d.wanted
	switch {
	case w.recalls && len(d.facts) == 0:
		return "I know nothing about you yet."
	case w.recalls:
		return "I know this about you:\n- " + strings.Join(d.facts, "\n- ")
	case len(Facts(w.said)) > 0:
		return "Thank you, I will remember that."
	case (w.scene || w.quote || w.order) && len(d.shown) == 0:
		return "Tell me which products first, such as: find oak chairs under 700."
	}
	for tool, wanted := range map[string]bool{"generate3D": w.scene, "createQuote": w.quote, "submitOrder": w.order} {
		if wanted && !d.can(tool) {
			return "I have no tool for that. I can: " + strings.Join(d.tools, ", ") + "."
		}
	}
	return "I am a few rules, and no language model. I can search (\"find oak chairs under 700\"), look products up by id, " +
		"make a 3D scene of them, quote (\"quote 4 of the second\") and order. With a key in the environment a model answers instead."
}
