package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// dialogue has the content of a request to the model, as the rules use it.
type dialogue struct {
	tools  []string
	words  vocabulary
	facts  []string // about the user
	wanted wish     // of this turn
	steps  []step   // of this turn
	shown  []product
	quote  string // the quote that "order it" means: the last one, unless a list came after it
}

// A step is a call of a tool and its result.
type step struct {
	tool, text string
	failed     bool
	result     result
}

// A result is the answer of a tool: a list of products, a scene, a quote or an order.
type result struct {
	ID       string    `json:"id"`
	Products []product `json:"products"`
	All      int       `json:"all_that_fit"`
	Unknown  []string  `json:"unknown_words"`
	URL      string    `json:"url"`
	QuoteID  string    `json:"quote_id"`
	Total    float64   `json:"total"`
	Lines    []struct {
		Name     string  `json:"name"`
		Quantity int     `json:"quantity"`
		Price    float64 `json:"price"`
	} `json:"lines"`
}

// A product is a product in a result of the search.
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

func read(r llm.Request) *dialogue {
	d := &dialogue{words: vocabulary{}}
	for _, t := range r.Tools {
		d.tools = append(d.tools, t.Name)
		if t.Name == "search_products" {
			for i, name := range []string{"Categories: ", "Materials: ", "Colours: ", "Styles: "} {
				_, list, _ := strings.Cut(t.Description, name)
				list, _, _ = strings.Cut(list, ".")
				d.words[columns[i]] = strings.Split(strings.ToLower(list), ", ")
			}
		}
	}
	said := ""
	for _, m := range r.Messages {
		switch m.Role {
		case llm.RoleSystem:
			d.learn(m.Text())
		case llm.RoleUser:
			said, d.steps = m.Text(), nil
		case llm.RoleTool:
			d.take(step{tool: m.Name, text: m.Text(), failed: m.Status == llm.StatusError})
		}
	}
	d.wanted = understand(d.words, said)
	if w := &d.wanted; w.tool == "submitOrder" && w.pronoun == "it" && w.quantity == 0 && !w.products.any() {
		w.quoteID = d.quote
	}
	return d
}

// learn reads the facts about the user in a system prompt, which are lines of JSON.
func (d *dialogue) learn(prompt string) {
	for line := range strings.Lines(prompt) {
		var fact struct {
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(line), &fact) == nil && fact.Content != "" {
			d.facts = append(d.facts, fact.Content)
		}
	}
}

// take adds a call and its result.
func (d *dialogue) take(s step) {
	if !s.failed {
		_ = json.Unmarshal([]byte(s.text), &s.result) // a text that is not JSON is an empty result
	}
	d.steps = append(d.steps, s)
	switch {
	case s.tool == "createQuote":
		d.quote = s.result.ID // "" if the call failed
	case len(s.result.Products) > 0:
		d.shown, d.quote = s.result.Products, ""
	}
}

// did returns the result of the last call of a tool in this turn.
func (d *dialogue) did(tool string) (r result, ok bool) {
	for _, s := range d.steps {
		if s.tool == tool {
			r, ok = s.result, true
		}
	}
	return r, ok
}

// found reports whether a search of this turn found products.
func (d *dialogue) found() bool {
	r, _ := d.did("search_products")
	return len(r.Products) > 0
}

// strange returns the words of the request that the rules do not understand, and the names that no product has.
func (d *dialogue) strange() []string {
	words := d.wanted.products.strange
	r, _ := d.did("search_products")
	for _, word := range d.wanted.products.names() {
		if slices.ContainsFunc(r.Unknown, func(unknown string) bool { return strings.Contains(word, unknown) }) {
			words = append(words, word)
		}
	}
	return words
}

// liked returns the values of the catalogue that the user prefers, according to the facts.
func (d *dialogue) liked() (words []string) {
	for _, fact := range d.facts {
		said, ok := strings.CutPrefix(strings.ToLower(fact), "i prefer ")
		list := strings.Fields(said)
		if _, word, n := d.words.at(list); ok && n > 0 && n == len(list) {
			words = append(words, word)
		}
	}
	return words
}
