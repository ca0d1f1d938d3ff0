package offline

import (
	"fmt"
	"slices"
)

// chosen are the products that the request is about. A problem says why they are not clear.
func (d *dialogue) chosen() (list []product, problem string) {
	w := d.wanted
	switch {
	case len(w.ids) > 0:
		return slices.DeleteFunc(slices.Clone(d.shown), func(p product) bool { return !slices.Contains(w.ids, p.ID) }), ""
	case w.again:
		return d.quotedBefore()
	case len(d.shown) == 0 || w.search && d.all == 0:
		return nil, "Tell me which products first, such as: find oak chairs under 700."
	case len(w.places) > 0:
		return d.placed()
	case w.best != "":
		return []product{d.best()}, ""
	case w.every, w.scene, len(d.shown) == 1:
		return d.shown, ""
	}
	return nil, "Which of them? Say for example: the second, the cheapest, all of them, or an id such as " + d.shown[0].ID + "."
}

// quotedBefore is the product of the last quote that was asked for, for another quantity of it.
func (d *dialogue) quotedBefore() ([]product, string) {
	if len(d.quoted) == 1 && d.wanted.quantity > 0 {
		return []product{{ID: d.quoted[0]}}, ""
	}
	return nil, "Say which product and how many, such as: quote 6 of P042."
}

// placed are the products at the places of the last list that the request names.
func (d *dialogue) placed() (list []product, problem string) {
	for _, place := range d.wanted.places {
		if place < 0 {
			place = len(d.shown)
		}
		if place < 1 || place > len(d.shown) {
			return nil, fmt.Sprintf("The last list has %d products, so it has no number %d.", len(d.shown), place)
		}
		list = append(list, d.shown[place-1])
	}
	return list, ""
}

// best is the cheapest or the most expensive product that was shown.
func (d *dialogue) best() product {
	best := d.shown[0]
	for _, p := range d.shown {
		if d.wanted.best == "cheapest" && p.Price < best.Price || d.wanted.best == "dearest" && p.Price > best.Price {
			best = p
		}
	}
	return best
}
