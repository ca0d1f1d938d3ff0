package catalogue

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// A Query says which products to look for. A product must meet every condition that is set. The zero Query
// finds everything.
type Query struct {
	// Text has words. A product must have each of them in its id, name, category, material, colour, style, designer,
	// maker or year.
	Text string
	// Categories, Materials, Colours and Styles are values as in [Product]; a product must have one of each list
	// that is not empty. A material may be a group of [Groups]. Case does not matter.
	Categories, Materials, Colours, Styles []string
	// Without has categories, materials, groups, colours and styles that a product must not have.
	Without []string
	// MinPrice and MaxPrice are in euros. Zero means any.
	MinPrice, MaxPrice float64
	// MaxWidth, MaxDepth and MaxHeight are in centimetres. Zero means any. A product of unknown size does not fit.
	MaxWidth, MaxDepth, MaxHeight float64
	// Prefer has words; products with more of them come first.
	Prefer string
	// Dearest puts the most expensive products first, instead of the cheapest.
	Dearest bool
}

// Groups are names for several materials.
var Groups = map[string][]string{
	"wood":   {"ash", "bamboo", "beech", "birch", "elm", "fir", "mahogany", "maple", "oak", "walnut"},
	"metal":  {"aluminium", "brass", "copper", "steel"},
	"stone":  {"granite", "larvikite", "limestone", "marble", "quartzite", "sandstone", "slate", "travertine"},
	"fabric": {"cotton", "wool"},
}

// Search returns at most limit products that fit, and the number of all products that fit.
func (c *Catalogue) Search(q Query, limit int) ([]Product, int) {
	hits := []Product{}
	asked, liked := Tokens(q.Text), Tokens(q.Prefer)
	for _, p := range c.products {
		if q.fits(p) && count(p, asked) == len(asked) {
			hits = append(hits, p)
		}
	}
	slices.SortStableFunc(hits, func(a, b Product) int {
		price := cmp.Compare(a.Price, b.Price)
		if q.Dearest {
			price = -price
		}
		return cmp.Or(cmp.Compare(count(b, liked), count(a, liked)), price)
	})
	return hits[:min(limit, len(hits))], len(hits)
}

// Unknown returns the words of a text that no product has.
func (c *Catalogue) Unknown(text string) (words []string) {
	for _, word := range Tokens(text) {
		if !slices.ContainsFunc(c.products, func(p Product) bool { return count(p, []string{word}) > 0 }) {
			words = append(words, word)
		}
	}
	return words
}

func (q Query) fits(p Product) bool {
	under := func(size, most float64) bool { return most <= 0 || size > 0 && size <= most }
	return oneOf(q.Categories, p.Category) && oneOf(q.Materials, p.Material) && oneOf(q.Colours, p.Colour) && oneOf(q.Styles, p.Style) &&
		!slices.ContainsFunc([]string{p.Category, p.Material, p.Colour, p.Style}, func(has string) bool { return len(q.Without) > 0 && oneOf(q.Without, has) }) &&
		p.Price >= q.MinPrice && (q.MaxPrice <= 0 || p.Price <= q.MaxPrice) &&
		under(p.Width, q.MaxWidth) && under(p.Depth, q.MaxDepth) && under(p.Height, q.MaxHeight)
}

// oneOf reports whether a value is in a list, or in a group that the list names. An empty list has all values.
func oneOf(list []string, value string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(one string) bool {
		return strings.EqualFold(one, value) || slices.Contains(Groups[strings.ToLower(one)], strings.ToLower(value))
	})
}

// count returns how many of the words a product has.
func count(p Product, words []string) (n int) {
	has := Tokens(strings.Join([]string{p.ID, p.Name, p.Category, p.Material, p.Colour, p.Style, p.Designer, p.Maker, p.Year}, " "))
	for _, word := range words {
		if slices.Contains(has, word) {
			n++
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
