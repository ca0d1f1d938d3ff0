package offline

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// filters are the conditions of a request.
type filters struct {
	values             map[string][]string // by the argument of the search: category, material, colour, style
	without            []string
	minPrice, maxPrice float64
	sizes              map[string]float64 // by the argument of the search, in centimetres
	said               []string           // the prices and sizes, as they were said
}

func (f *filters) any() bool { return f.valued() || f.measured() }

func (f *filters) valued() bool { return len(f.values) > 0 || len(f.without) > 0 }

func (f *filters) measured() bool { return f.minPrice > 0 || f.maxPrice > 0 || len(f.sizes) > 0 }

func (f *filters) add(v value) {
	if f.values == nil {
		f.values = map[string][]string{}
	}
	if !slices.Contains(f.values[v.column], v.word) {
		f.values[v.column] = append(f.values[v.column], v.word)
	}
}

// String tells the conditions to a person.
func (f *filters) String() string {
	var parts []string
	for _, column := range columns {
		if words := f.values[column]; len(words) > 0 {
			parts = append(parts, strings.Join(words, " or "))
		}
	}
	if len(f.without) > 0 {
		parts = append(parts, "not "+strings.Join(f.without, ", not "))
	}
	return strings.Join(append(parts, f.said...), "; ")
}

// arguments returns the arguments of a search. Without the values of columns, these become words of the query.
func (f *filters) arguments(valued bool) map[string]any {
	args := map[string]any{"limit": 10}
	set := func(name string, v float64) {
		if v > 0 {
			args[name] = v
		}
	}
	set("min_price", f.minPrice)
	set("max_price", f.maxPrice)
	for name, size := range f.sizes {
		set(name, size)
	}
	if len(f.without) > 0 {
		args["without"] = strings.Join(f.without, ", ")
	}
	for column, words := range f.values {
		if valued {
			args[column] = strings.Join(words, ", ")
		}
	}
	return args
}

const (
	amount = `([0-9][0-9.,]*)\s*(k\b)?`
	euros  = `\s*(?:€|eur\b|euros?\b)?`
	length = `([0-9]+(?:[.,][0-9]+)?)\s*(cm|centimet(?:re|er)s?|m|met(?:re|er)s?)\b`
	less   = `(?:under|below|less than|smaller than)`
	most   = `(?:up to|at most|max(?:imum)?(?: of)?|no more than|not more than|not over|not above|within|≤|<=)`
)

var (
	between  = regexp.MustCompile(`\bbetween` + euros + `\s*` + amount + euros + `\s+and` + euros + `\s*` + amount + euros)
	atMost   = regexp.MustCompile(`(?:\b|^|\s)` + most + euros + `\s*` + amount + euros)
	below    = regexp.MustCompile(`(?:\b|^|\s)(?:` + less + `|cheaper than|<)` + euros + `\s*` + amount + euros)
	above    = regexp.MustCompile(`(?:\b|^|\s)(?:over|above|more than|more expensive than|>)` + euros + `\s*` + amount + euros)
	notAbove = regexp.MustCompile(`\b(?:not|no|isn't|aren't)(?: any)? (wider|broader|deeper|taller|higher) than ` + length)
	counted  = regexp.MustCompile(`\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b( of| met| m\b| cm| piece| chair)?`)
)

var dimensions = map[string]string{
	"wider": "max_width_cm", "broader": "max_width_cm", "deeper": "max_depth_cm", "taller": "max_height_cm", "higher": "max_height_cm",
}

// digits writes the words of numbers as digits. "One" is a number only before what it counts.
func digits(text string) string {
	names := strings.Fields("one two three four five six seven eight nine ten eleven twelve")
	return counted.ReplaceAllStringFunc(text, func(found string) string {
		word, rest, _ := strings.Cut(found, " ")
		if word == "one" && rest == "" {
			return found
		}
		return strings.TrimSpace(strconv.Itoa(slices.Index(names, word)+1) + " " + rest)
	})
}

// measure takes prices and sizes out of a text.
func (f *filters) measure(text string) string {
	take := func(form *regexp.Regexp, use func(m []string)) {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			use(m)
			f.said = append(f.said, strings.TrimSpace(m[0]))
			text = strings.Replace(text, m[0], " ", 1)
		}
	}
	size := func(word, number, unit string) {
		n, _ := strconv.ParseFloat(strings.ReplaceAll(number, ",", "."), 64)
		if strings.HasPrefix(unit, "m") {
			n *= 100
		}
		if f.sizes == nil {
			f.sizes = map[string]float64{}
		}
		f.sizes[dimensions[word]] = n
	}
	take(notAbove, func(m []string) { size(m[1], m[2], m[3]) })
	if regexp.MustCompile(length).MatchString(text) {
		return text // another size, which no price may swallow
	}
	take(between, func(m []string) { f.minPrice, f.maxPrice = money(m[1], m[2]), money(m[3], m[4]) })
	take(atMost, func(m []string) { f.maxPrice = money(m[1], m[2]) })
	take(below, func(m []string) { f.maxPrice = money(m[1], m[2]) - 0.01 })
	take(above, func(m []string) { f.minPrice = money(m[1], m[2]) + 0.01 })
	return text
}

var thousands = regexp.MustCompile(`^[0-9]{1,3}([.,][0-9]{3})+$`)

// money reads an amount such as 1,200, 1.200, 99.50 or 2k.
func money(number, kilo string) float64 {
	number = strings.Trim(number, ".,")
	if thousands.MatchString(number) {
		number = strings.NewReplacer(",", "", ".", "").Replace(number)
	}
	n, _ := strconv.ParseFloat(strings.ReplaceAll(number, ",", "."), 64)
	if kilo != "" {
		n *= 1000
	}
	return math.Max(n, 0.02)
}

// columns are arguments of the search whose values the catalogue lists.
var columns = []string{"category", "material", "colour", "style"}

// vocabulary has the values of each column.
type vocabulary map[string][]string

// A value is a word of a column. It is guessed if the request has it misspelt.
type value struct {
	column, word string
	guessed      bool
}

// at returns the value with which a list of words begins, and how many words it is.
func (v vocabulary) at(words []string) (value, int) {
	for n := min(3, len(words)); n > 0; n-- {
		if found, ok := v.find(strings.Join(words[:n], " ")); ok {
			return found, n
		}
	}
	return value{}, 0
}

// counts reports whether words begin with a category, or with values and then a category: "red oak chairs".
func (v vocabulary) counts(words []string) bool {
	for len(words) > 0 {
		found, n := v.at(words)
		if n == 0 {
			return false
		}
		if found.column == "category" {
			return true
		}
		words = words[n:]
	}
	return false
}

func (v vocabulary) find(phrase string) (value, bool) {
	var near []value
	for _, column := range columns {
		for _, word := range v[column] {
			word = strings.ToLower(word)
			switch {
			case word == "":
			case phrase == word || slices.Contains(forms(word), phrase):
				return value{column: column, word: word}, true
			case slices.ContainsFunc(append(forms(word), word), func(form string) bool { return misspelt(phrase, form) }):
				near = append(near, value{column, word, true})
			}
		}
	}
	if len(near) == 1 {
		return near[0], true
	}
	return value{}, false
}

// forms are other forms of a word: the plural, and "wooden".
func forms(word string) []string {
	list := []string{word + "s", word + "es", word + "en"}
	if strings.HasSuffix(word, "f") {
		list = append(list, strings.TrimSuffix(word, "f")+"ves")
	}
	if word == "grey" {
		list = append(list, "gray")
	}
	return list
}

// misspelt reports whether a word is another one with two neighbouring letters exchanged, or with a letter too many or
// too few. The first letter has to be right, and short words are not guessed.
func misspelt(said, word string) bool {
	a, b := []rune(said), []rune(word)
	if len(a) < 5 || len(b) < 5 || a[0] != b[0] {
		return false
	}
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	switch cmp.Compare(len(a), len(b)) {
	case 0:
		return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && slices.Equal(a[i+2:], b[i+2:])
	case 1:
		return len(a) == len(b)+1 && slices.Equal(a[i+1:], b[i:])
	}
	return len(b) == len(a)+1 && slices.Equal(a[i:], b[i+1:])
}

func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("'$£²", r)
}

// quotedList writes words as "a", "b".
func quotedList(words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = fmt.Sprintf("%q", word)
	}
	return strings.Join(list, ", ")
}
