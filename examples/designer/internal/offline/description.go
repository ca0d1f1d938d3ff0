package offline

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// A description has the conditions of a request on the products.
type description struct {
	args     map[string]any // of the search
	limits   []string       // the price and the width, in the user's words
	cheapest bool
	strange  []string // words that the rules do not understand
}

// columns are arguments of the search whose values the catalogue lists.
var columns = []string{"category", "material", "colour", "style"}

// A vocabulary has the values of each column, in lower case.
type vocabulary map[string][]string

var (
	start = regexp.MustCompile(`^(?:(?:ok|please) )*(?:find|show|i need|is there|do you have|what|which)(?: me)? `)
	price = regexp.MustCompile(`^(?:under|below) ([1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]*)(?: €| euros?)?(?: |$)`)
	width = regexp.MustCompile(`^not wider than (` + number + `) (cm|m|met(?:re|er)s?)(?: |$)`)
	// plain matches a word that can be part of a name. A number cannot: the search would read "1950s" as the year 1950.
	plain = regexp.MustCompile(`^\p{L}[\p{L}\p{N}]*(?:-\p{L}[\p{L}\p{N}]*)*$`)
)

const (
	negators = " not no without "
	// reserved words have a meaning in some positions only. In others the rules do not understand them.
	reserved = negators + "about but or than under below "
	// fillers say nothing about a product.
	fillers = " , a an and any by from in of ok please some the then with "
)

func isIn(list, word string) bool { return strings.Contains(list, " "+word+" ") }

// read reads a text word by word.
func (p *description) read(v vocabulary, text string) {
	text = strings.NewReplacer(" do you have ", " ", " but not ", " not ").Replace(text) // "what lamps do you have"
	words := strings.Fields(start.ReplaceAllString(text+" ", ""))
	for len(words) > 0 {
		n := p.limit(words)
		if n == 0 {
			n = p.value(v, words)
		}
		if n == 0 {
			n = 1
			p.word(words[0])
		}
		words = words[n:]
	}
}

// limit reads a price or a width at the start of words, and returns its number of words. For no limit, or a second
// price or width, it returns 0.
func (p *description) limit(words []string) int {
	text := strings.Join(words, " ")
	name, most, m := "max_price", 0.0, price.FindStringSubmatch(text)
	if m != nil {
		most = float64(count(strings.ReplaceAll(m[1], ",", ""))) - 0.01
	} else if m = width.FindStringSubmatch(text); m != nil {
		name, most = "max_width_cm", float64(count(m[1]))
		if m[2] != "cm" {
			most *= 100
		}
	}
	if most <= 0 || p.args[name] != nil {
		return 0
	}
	p.args[name] = most
	p.limits = append(p.limits, strings.TrimSpace(m[0]))
	return len(strings.Fields(m[0]))
}

// value reads a value of the catalogue at the start of words, such as "oak" or "not leather", and returns its number of
// words. A second value of a column is not understood. Neither is any value after "not leather", since "not leather and
// oak" may exclude both.
func (p *description) value(v vocabulary, words []string) int {
	negated := 0
	if isIn(negators, words[0]) {
		negated = 1
	}
	name, word, n := v.at(words[negated:])
	if n == 0 {
		return 0
	}
	if negated == 1 {
		name = "without"
	}
	if n += negated; p.args[name] != nil || p.args["without"] != nil {
		p.strange = append(p.strange, words[:n]...)
		return n
	}
	p.args[name] = word
	return n
}

// word reads a word that is no limit or value: a filler, "cheapest", a word of an id, name, designer or maker, or a word
// that the rules do not understand.
func (p *description) word(word string) {
	switch {
	case isIn(fillers, word):
	case word == "cheapest":
		p.cheapest = true
	case isIn(reserved, word), count(word) > 0, !plain.MatchString(word):
		p.strange = append(p.strange, word)
	default:
		p.args["query"] = strings.Join(append(p.names(), word), " ")
	}
}

// at returns the value at the start of words, its column, and its number of words.
func (v vocabulary) at(words []string) (column, value string, n int) {
	for n := min(3, len(words)); n > 0; n-- {
		said := strings.Join(words[:n], " ")
		for _, column := range columns {
			for _, value := range v[column] {
				if said == value || said == value+"s" && value != "" {
					return column, value, n
				}
			}
		}
	}
	return "", "", 0
}

// any reports whether the description has a condition. "The cheapest" is not one.
func (p *description) any() bool { return len(p.args) > 0 }

// names returns the words of the request that are not values of the catalogue's columns.
func (p *description) names() []string {
	query, _ := p.args["query"].(string)
	return strings.Fields(query)
}

// searches returns the arguments of the searches that the description may mean. In "Barcelona chair", the word "chair"
// may be the category or part of the name.
func (p *description) searches() []map[string]any {
	asked := maps.Clone(p.args)
	asked["limit"] = 10
	category, ok := p.args["category"].(string)
	if !ok {
		return []map[string]any{asked}
	}
	named := maps.Clone(asked)
	delete(named, "category")
	named["query"] = strings.Join(append(p.names(), category), " ")
	return []map[string]any{asked, named}
}

// tell returns the conditions of a search as text for a person.
func (p *description) tell(search map[string]any) string {
	var parts []string
	for _, column := range columns {
		if search[column] != nil {
			parts = append(parts, fmt.Sprint(search[column]))
		}
	}
	if p.args["without"] != nil {
		parts = append(parts, fmt.Sprint("not ", p.args["without"]))
	}
	parts = append(parts, p.limits...)
	if query, ok := search["query"].(string); ok {
		parts = append(parts, "with "+quotedList(strings.Fields(query)))
	}
	return strings.Join(parts, "; ")
}

func quotedList(words []string) string { return `"` + strings.Join(words, `", "`) + `"` }
