package offline

import (
	"slices"
	"strings"
)

// next returns the call that brings the wish further, if there is one. A step that failed, or that a
// person refused, ends what would build on it.
func (d *dialogue) next() (step, bool) {
	if len(d.steps) > 0 && d.steps[len(d.steps)-1].failed {
		return step{}, false
	}
	for _, want := range []func() (step, bool){d.lookUp, d.search, d.scene, d.makeQuote, d.submit} {
		if s, ok := want(); ok {
			return s, d.can(s.tool)
		}
	}
	return step{}, false
}

// lookUp looks at the next product that the request names.
func (d *dialogue) lookUp() (step, bool) {
	for _, id := range d.wanted.ids {
		asked := slices.ContainsFunc(d.steps, func(s step) bool { return s.tool == "get_product" && s.arguments["id"] == id })
		if !asked {
			return step{tool: "get_product", arguments: map[string]any{"id": id}}, true
		}
	}
	return step{}, false
}

// search looks for all words of the request, and without those that are in no product if that finds nothing.
func (d *dialogue) search() (step, bool) {
	w := d.wanted
	if !w.search {
		return step{}, false
	}
	done, searched := d.did("search_products")
	_, worded := done.arguments["query"]
	if searched && (d.all > 0 || !worded) {
		return step{}, false
	}
	args := map[string]any{"limit": 5}
	for name, value := range map[string]string{"category": w.category, "material": w.material, "colour": w.colour, "style": w.style} {
		if value != "" {
			args[name] = value
		}
	}
	if w.maxPrice > 0 {
		args["max_price"] = w.maxPrice
	}
	if words := append(slices.Clip(w.words), d.preferred()...); !searched && len(words) > 0 {
		args["query"] = strings.Join(words, " ")
	}
	if searched && len(args) == 1 { // there is nothing to look for but words that are nowhere
		return step{}, false
	}
	return step{tool: "search_products", arguments: args}, true
}

// preferred are words of the catalogue that the user is known to like, where the request leaves it open.
func (d *dialogue) preferred() (words []string) {
	w := d.wanted
	for _, fact := range d.facts {
		text := strings.ToLower(fact)
		if !strings.Contains(text, "prefer") && !strings.Contains(text, "like") && !strings.Contains(text, "love") ||
			strings.Contains(text, "not like") || strings.Contains(text, "n't like") || strings.Contains(text, "dislike") {
			continue
		}
		for _, column := range []struct {
			open  bool
			words []string
		}{{w.material == "", d.words.materials}, {w.colour == "", d.words.colours}, {w.style == "", d.words.styles}} {
			if word, _ := pick(text, column.words); column.open && word != "" && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// chosen are the products that the request is about.
func (d *dialogue) chosen(most int) []product {
	w, list := d.wanted, d.shown
	switch {
	case len(w.ids) > 0:
		list = slices.DeleteFunc(slices.Clone(list), func(p product) bool { return !slices.Contains(w.ids, p.ID) })
	case w.place > 0 && w.place <= len(list):
		list = list[w.place-1 : w.place]
	case !w.every && !w.scene:
		list = list[:min(1, len(list))]
	}
	return list[:min(most, len(list))]
}

func (d *dialogue) scene() (step, bool) {
	if _, done := d.did("generate3D"); !d.wanted.scene || done {
		return step{}, false
	}
	var ids []string
	for _, p := range d.chosen(40) {
		ids = append(ids, p.ID)
	}
	return step{tool: "generate3D", arguments: map[string]any{"prompt": d.wanted.said, "product_ids": ids}}, len(ids) > 0
}

// makeQuote makes a quote, also for an order without one.
func (d *dialogue) makeQuote() (step, bool) {
	w := d.wanted
	_, done := d.did("createQuote")
	if needed := w.quote || w.order && w.quoteID == "" && (d.quote == "" || w.search || len(w.ids) > 0); !needed || done {
		return step{}, false
	}
	var items []map[string]any
	for _, p := range d.chosen(20) {
		items = append(items, map[string]any{"product_id": p.ID, "quantity": w.quantity})
	}
	return step{tool: "createQuote", arguments: map[string]any{"items": items}}, len(items) > 0
}

func (d *dialogue) submit() (step, bool) {
	id := d.wanted.quoteID
	if id == "" {
		id = d.quote
	}
	if _, done := d.did("submitOrder"); !d.wanted.order || done || id == "" {
		return step{}, false
	}
	return step{tool: "submitOrder", arguments: map[string]any{"quote_id": id}}, true
}
