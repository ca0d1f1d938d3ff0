package offline

import (
	"cmp"
	"fmt"
	"slices"
)

// chosen are the products that the request is about. A problem says why they are not clear.
func (d *dialogue) chosen() (list []product, problem string) {
	w := d.wanted
	switch {
	case len(w.ids) > 0:
		return slices.DeleteFunc(slices.Clone(d.shown), func(p product) bool { return !slices.Contains(w.ids, p.ID) }), ""
	case w.again && len(d.quoted) == 1 && w.quantity > 0: // another quantity of what the last quote was about
		return []product{{ID: d.quoted[0]}}, ""
	case w.again:
		return nil, "Say which product and how many, such as: quote 6 of P042."
	case len(d.shown) == 0 || w.search && d.all == 0:
		return nil, "Tell me which products first, such as: find oak chairs under 700."
	case len(w.places) > 0:
		return d.placed()
	case w.cheapest:
		return []product{slices.MinFunc(d.shown, func(a, b product) int { return cmp.Compare(a.Price, b.Price) })}, ""
	case w.every, w.scene, len(d.shown) == 1:
		return d.shown, ""
	}
	return nil, "Which of them? Say for example: the second, the cheapest, all of them, or an id such as " + d.shown[0].ID + "."
}

// placed are the products at the places of the last list that the request names.
func (d *dialogue) placed() (list []product, problem string) {
	for _, place := range d.wanted.places {
		if place < 0 {
			place = len(d.shown)
		}
		if place < 1 || place > len(d.shown) {
			return nil, fmt.Sprintf("The last list has %s, so it has no number %d.", products(len(d.shown)), place)
		}
		list = append(list, d.shown[place-1])
	}
	return list, ""
}
