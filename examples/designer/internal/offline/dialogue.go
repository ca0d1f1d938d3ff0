package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// A product is what the tools tell of one.
type product struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Price   float64 `json:"price"`
	Details struct {
		Maker    string
		Designer string
		Material string
		Colour   string
		Style    string
		Size     string `json:"Size (cm)"`
		Unit     string `json:"Price per"`
	} `json:"details"`
}

// dialogue is what the model knows when it is asked.
type dialogue struct {
	tools   []string
	words   vocabulary
	facts   []string  // what is known of the user
	steps   []step    // of this turn
	shown   []product // the products of the last search, of any turn
	before  []product // those of the turns before
	all     int       // how many the last search of this turn had
	unknown []string  // words that no product has, of the searches of this turn
	looked  bool      // a product was looked up by id in this turn
	quoted  []string  // the products of the last quote that was asked for
	quote   string    // the id of the last quote
	wanted  wish
}

func read(r llm.Request) *dialogue {
	d := &dialogue{}
	for _, t := range r.Tools {
		d.tools = append(d.tools, t.Name)
		if t.Name == "search_products" {
			d.words = vocabulary{
				"category": listed(t.Description, "Categories: "), "material": listed(t.Description, "Materials: "),
				"colour": listed(t.Description, "Colours: "), "style": listed(t.Description, "Styles: "),
			}
		}
	}
	calls := map[string]llm.ToolCall{}
	said := ""
	for _, m := range r.Messages {
		switch m.Role {
		case llm.RoleSystem:
			d.facts = append(d.facts, known(m.Text())...)
		case llm.RoleUser:
			said, d.steps, d.all, d.looked, d.unknown, d.before = m.Text(), nil, 0, false, nil, d.shown
		case llm.RoleAssistant:
			for _, c := range m.ToolCalls {
				calls[c.ID] = c
				if c.Name == "createQuote" {
					d.quoted = productID.FindAllString(string(c.Arguments), -1)
				}
			}
		case llm.RoleTool:
			c := calls[m.ToolCallID]
			s := step{tool: c.Name, answer: m.Text(), failed: m.Status == llm.StatusError}
			_ = json.Unmarshal(c.Arguments, &s.arguments) // what was not JSON was answered with an error
			d.take(s)
		}
	}
	d.wanted = d.understand(said)
	return d
}

func listed(text, name string) []string {
	_, rest, ok := strings.Cut(text, name)
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, ".")
	return strings.Split(rest, ", ")
}

// known returns what a system prompt says of the user, as lines of JSON.
func known(prompt string) (facts []string) {
	for line := range strings.Lines(prompt) {
		var fact struct {
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(line), &fact) == nil && fact.Content != "" {
			facts = append(facts, fact.Content)
		}
	}
	return facts
}

// take notes the answer of a tool.
func (d *dialogue) take(s step) {
	d.steps = append(d.steps, s)
	var answer struct {
		product
		Products []product `json:"products"`
		All      int       `json:"all_that_fit"`
		Unknown  []string  `json:"unknown_words"`
	}
	if s.failed || json.Unmarshal([]byte(s.answer), &answer) != nil {
		return
	}
	switch {
	case s.tool == "search_products":
		d.all, d.unknown = answer.All, append(d.unknown, answer.Unknown...)
		if len(answer.Products) > 0 {
			d.shown = answer.Products
		}
	case s.tool == "get_product" && d.looked:
		d.shown = append(d.shown, answer.product)
	case s.tool == "get_product":
		d.shown, d.looked = []product{answer.product}, true
	case s.tool == "createQuote":
		d.quote = answer.ID
	}
}

// missing reports whether the catalogue has no product of an id that was looked up in this turn.
func (d *dialogue) missing(id string) bool {
	return slices.ContainsFunc(d.steps, func(s step) bool { return s.tool == "get_product" && s.failed && s.arguments["id"] == id })
}

// did returns the last step of a tool in this turn.
func (d *dialogue) did(tool string) (step, bool) {
	for _, s := range slices.Backward(d.steps) {
		if s.tool == tool {
			return s, true
		}
	}
	return step{}, false
}

// can reports whether there is such a tool.
func (d *dialogue) can(tool string) bool { return slices.Contains(d.tools, tool) }
