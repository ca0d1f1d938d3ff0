package offline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// next returns the call that brings the wish further, if there is one. A step that failed, or that a
// person refused, ends what would build on it.
func (d *dialogue) next() (step, bool) {
	if n := len(d.steps); n > 0 && d.steps[n-1].failed && d.steps[n-1].tool != "get_product" {
		return step{}, false
	}
	for _, want := range []func() (step, bool){d.findParts, d.lookUp, d.search, d.scene, d.makeQuote, d.submit} {
		if s, ok := want(); ok && d.can(s.tool) {
			return s, true
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

// search makes the first search that was not made yet, until one finds something.
func (d *dialogue) search() (step, bool) {
	if !d.wanted.search || d.all > 0 {
		return step{}, false
	}
	for _, args := range d.tries() {
		made := slices.ContainsFunc(d.steps, func(s step) bool { return s.tool == "search_products" && same(s.arguments, args) })
		if !made {
			return step{tool: "search_products", arguments: args}, true
		}
	}
	return step{}, false
}

func same(a, b map[string]any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// tries are the searches that the request may mean: with the values of the catalogue as conditions, with the category as
// a word of a name ("Barcelona chair" is the name of an armchair), and for the other words alone. Words that no product
// has are left out.
func (d *dialogue) tries() (list []map[string]any) {
	w := d.wanted
	if d.lost() {
		return nil
	}
	words := d.known(w.words)
	query := strings.Join(words, " ")
	first := w.filters.arguments(true)
	if w.every {
		first["limit"] = 20
	}
	if liked := d.preferred(); len(liked) > 0 && !w.cheapest {
		first["prefer"] = strings.Join(liked, " ")
	}
	if query != "" {
		first["query"] = query
	}
	if query != "" || w.filters.any() {
		list = append(list, first)
	}
	if named := d.named(); named != nil {
		list = append(list, named)
	}
	if query != "" && len(w.filters.values) > 0 {
		others := w.filters.arguments(false)
		others["query"] = query
		list = append(list, others)
	}
	return list
}

// named is a search for products that have the category as a word of their name. It is nil without one category.
func (d *dialogue) named() map[string]any {
	f := d.wanted.filters
	if len(f.values["category"]) != 1 {
		return nil
	}
	args := f.arguments(true)
	delete(args, "category")
	args["query"] = strings.Join(append(d.known(d.wanted.words), f.values["category"][0]), " ")
	return args
}

// known returns the words that a product has.
func (d *dialogue) known(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), d.strange)
}

// strange reports whether no product has a word.
func (d *dialogue) strange(word string) bool {
	word = strings.TrimLeft(word, "$£'")
	return slices.ContainsFunc(d.unknown, func(u string) bool { return u == word || u+"s" == word })
}

// lost reports whether more words of the request were not understood than conditions were. What would be found then is not
// what was asked for.
func (d *dialogue) lost() bool {
	f := d.wanted.filters
	return d.wanted.search && len(d.strangers()) > len(f.values)+len(f.without)+len(f.said)+len(d.known(d.wanted.words))
}

// loose reports whether what was found lacks conditions of the request.
func (d *dialogue) loose() bool {
	last, ok := d.did("search_products")
	others := d.wanted.filters.arguments(false)
	others["query"] = strings.Join(d.known(d.wanted.words), " ")
	return ok && len(d.wanted.filters.values) > 0 && same(last.arguments, others)
}

// strangers are the words of the request that were not understood.
func (d *dialogue) strangers() []string {
	if !d.wanted.search {
		return d.wanted.words
	}
	return slices.DeleteFunc(slices.Clone(d.wanted.words), func(word string) bool { return !d.strange(word) })
}

// preferred are words of the catalogue that the user is known to like, where the request leaves it open.
func (d *dialogue) preferred() (words []string) {
	for _, fact := range d.facts {
		text := strings.ToLower(fact)
		if !strings.Contains(text, "prefer") && !strings.Contains(text, "like") && !strings.Contains(text, "love") ||
			strings.Contains(text, "not like") || strings.Contains(text, "n't like") || strings.Contains(text, "dislike") {
			continue
		}
		list := strings.FieldsFunc(text, separates)
		for i := 0; i < len(list); i++ {
			found, n := d.words.at(list[i:])
			if n > 0 && !found.guessed && found.column != "category" && len(d.wanted.filters.values[found.column]) == 0 && !slices.Contains(words, found.word) {
				words = append(words, found.word)
			}
		}
	}
	return words
}

// ready returns the products of an action. Nothing is done if a word of the request was not understood.
func (d *dialogue) ready() []product {
	if len(d.strangers()) > 0 || d.loose() {
		return nil
	}
	list, _ := d.chosen()
	return list
}

func (d *dialogue) scene() (step, bool) {
	if _, done := d.did("generate3D"); !d.wanted.scene || done {
		return step{}, false
	}
	var ids []string
	for _, p := range d.ready() {
		ids = append(ids, p.ID)
	}
	return step{tool: "generate3D", arguments: map[string]any{"prompt": d.wanted.said, "product_ids": ids}}, len(ids) > 0
}

// makeQuote makes a quote, also for an order without one.
func (d *dialogue) makeQuote() (step, bool) {
	w := d.wanted
	_, done := d.did("createQuote")
	if needed := w.quote || w.again || d.unquoted(); !needed || done || w.order && !d.can("submitOrder") {
		return step{}, false
	}
	var items []map[string]any
	for _, i := range d.items() {
		items = append(items, map[string]any{"product_id": i.ID, "quantity": i.quantity})
	}
	return step{tool: "createQuote", arguments: map[string]any{"items": items}}, len(items) > 0
}

// unquoted reports whether the request orders products that no quote of this turn has.
func (d *dialogue) unquoted() bool {
	w := d.wanted
	_, done := d.did("createQuote")
	fresh := d.quote == "" || w.search || len(w.ids)+len(w.places)+len(w.parts) > 0 || w.cheapest
	return w.order && w.quoteID == "" && fresh && !done
}

func (d *dialogue) submit() (step, bool) {
	id := cmp.Or(d.wanted.quoteID, d.quote)
	if _, done := d.did("submitOrder"); !d.wanted.order || done || id == "" || d.unquoted() || len(d.strangers()) > 0 {
		return step{}, false
	}
	return step{tool: "submitOrder", arguments: map[string]any{"quote_id": id}}, true
}
