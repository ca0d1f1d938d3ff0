package catalogue

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// A Query says what to look for. Its zero value finds everything.
type Query struct {
	// Text is words; a product has to have one of them, and those with more of them are better.
	Text string
	// Category, Material, Colour and Style are as in [Product]; case does not count.
	Category, Material, Colour, Style string
	// MaxPrice is the highest price. Zero means any.
	MaxPrice float64
}

// Search returns the products that fit, the best first and of those the cheapest, at most limit,
// and how many fit in all.
func (c *Catalogue) Search(q Query, limit int) ([]Product, int) {
	type hit struct {
		product Product
		score   int
	}
	var hits []hit
	asked := Tokens(q.Text)
	for _, p := range c.products {
		if !q.fits(p) {
			continue
		}
		if score := score(p, asked); score > 0 || len(asked) == 0 {
			hits = append(hits, hit{p, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.product.Price, b.product.Price))
	})
	out := []Product{}
	for _, h := range hits[:min(limit, len(hits))] {
		out = append(out, h.product)
	}
	return out, len(hits)
}

func (q Query) fits(p Product) bool {
	same := func(asked, has string) bool { return asked == "" || strings.EqualFold(asked, has) }
	return same(q.Category, p.Category) && same(q.Material, p.Material) && same(q.Colour, p.Colour) &&
		same(q.Style, p.Style) && (q.MaxPrice <= 0 || p.Price <= q.MaxPrice)
}

// score counts what words a product has; what it is counts more than what it is made of.
func score(p Product, asked []string) (n int) {
	heavy := Tokens(p.ID + " " + p.Name + " " + p.Category)
	light := Tokens(p.Material + " " + p.Colour + " " + p.Style + " " + p.Designer + " " + p.Maker + " " + p.Year)
	for _, word := range asked {
		switch {
		case slices.Contains(heavy, word):
			n += 3
		case slices.Contains(light, word):
			n += 2
		}
	}
	return n
}

// Tokens returns the words of a text in lower case, without the s of a plural.
func Tokens(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			words[i] = strings.TrimSuffix(w, "s")
		}
	}
	return words
}
