package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// next returns the tool and the arguments of the next call. The tool is "" if there is nothing to do. A word that is not
// understood ends the turn, and so does a call that failed or that a person refused.
func (d *dialogue) next() (tool string, args map[string]any) {
	w := d.wanted
	if len(d.strange()) > 0 || d.lacks(w.tool) || slices.ContainsFunc(d.steps, func(s step) bool { return s.failed }) {
		return "", nil
	}
	if w.products.any() && !d.found() {
		return d.search()
	}
	list, problem := d.chosen()
	_, done := d.did(w.tool)
	made, quoted := d.did("createQuote")
	switch {
	case w.tool == "" || done || problem != "":
		return "", nil
	case w.tool == "submitOrder" && (quoted || w.quoteID != ""):
		return w.tool, map[string]any{"quote_id": cmp.Or(w.quoteID, made.ID)}
	}
	var ids []string
	var items []map[string]any
	for _, p := range list {
		ids = append(ids, p.ID)
		items = append(items, map[string]any{"product_id": p.ID, "quantity": max(w.quantity, 1)})
	}
	if w.tool == "generate3D" {
		return w.tool, map[string]any{"prompt": w.said, "product_ids": ids}
	}
	return "createQuote", map[string]any{"items": items} // an order needs a quote first
}

// lacks reports whether the agent does not have a tool.
func (d *dialogue) lacks(tool string) bool { return tool != "" && !slices.Contains(d.tools, tool) }

// search returns the call of the next search, or "" if all searches were made.
func (d *dialogue) search() (tool string, args map[string]any) {
	p := d.wanted.products
	searches := p.searches()
	if len(d.steps) >= len(searches) {
		return "", nil
	}
	args = searches[len(d.steps)]
	if liked := d.liked(); len(liked) > 0 && !p.cheapest {
		args["prefer"] = strings.Join(liked, ", ")
	}
	return "search_products", args
}

// chosen returns the products that the request means, or a problem that says why they are not clear.
func (d *dialogue) chosen() (list []product, problem string) {
	w := d.wanted
	search, _ := d.did("search_products")
	switch {
	case w.quoteID != "":
		return nil, ""
	case len(d.shown) == 0 || w.products.any() && !d.found():
		return nil, "Tell me which products first, such as: find oak chairs under 700."
	case w.place > len(d.shown):
		return nil, fmt.Sprintf("The last list has %s, so it has no number %d.", products(len(d.shown)), w.place)
	case w.place > 0:
		return d.shown[w.place-1 : w.place], ""
	case w.products.cheapest:
		return []product{slices.MinFunc(d.shown, func(a, b product) int { return cmp.Compare(a.Price, b.Price) })}, ""
	case len(d.shown) == 1:
		return d.shown, ""
	case strings.HasSuffix(w.pronoun, "them") && w.tool != "" && search.All == len(search.Products): // the list has all products that were found
		return d.shown, ""
	}
	return nil, "Which of them? Say for example: the second, the cheapest, or an id such as " + d.shown[0].ID + "."
}
