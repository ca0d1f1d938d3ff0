package offline

import (
	"regexp"
	"slices"
	"strings"
)

// next returns the next tool calls, or the answer.
func (t talk) next() ([]lookup, string) {
	for _, r := range t.results {
		if r.failed {
			return nil, "The tool " + r.call.Name + " says: " + r.text + "."
		}
	}
	switch t.want.kind {
	case where:
		return t.where()
	case count:
		return t.count()
	case lines:
		return t.lines()
	case summary:
		return t.summary()
	case save:
		return t.save()
	case help:
		return nil, helpText
	case unclear:
		return nil, "What do you mean? Name a word that I can look for."
	}
	return t.look()
}

func ask(tool string, arguments map[string]any) []lookup { return []lookup{{tool, arguments}} }

func (t talk) where() ([]lookup, string) {
	if len(t.results) == 0 {
		return ask(toolFind, map[string]any{"query": t.want.topic, "limit": 10}), ""
	}
	f, _ := decode[foundLines](t.results[0])
	return nil, whereAnswer(t.want.topic, f)
}

func (t talk) count() ([]lookup, string) {
	if len(t.results) == 0 {
		arguments := map[string]any{}
		if t.want.topic != "" {
			arguments["word"] = t.want.topic
		}
		return ask(toolCount, arguments), ""
	}
	c, _ := decode[counted](t.results[0])
	return nil, countAnswer(t.want.topic, c)
}

func (t talk) lines() ([]lookup, string) {
	if len(t.results) == 0 {
		return ask(toolRead, t.want.span()), ""
	}
	p, _ := decode[passage](t.results[0])
	return nil, linesAnswer(p)
}

// summary calls the tools for the outline and the counts at the same time, and then writes the answer.
func (t talk) summary() ([]lookup, string) {
	if len(t.results) == 0 {
		return []lookup{{toolOutline, map[string]any{}}, {toolCount, map[string]any{}}}, ""
	}
	o, _ := decode[outline](t.results[0])
	c, _ := decode[counted](t.results[1])
	return nil, summaryAnswer(o, c)
}

// save saves a note. To save lines, it reads them first.
func (t talk) save() ([]lookup, string) {
	text := t.want.topic
	done := t.results
	if t.want.from != 0 {
		if len(done) == 0 {
			return ask(toolRead, t.want.span()), ""
		}
		p, _ := decode[passage](done[0])
		text, done = outdent(quote(p.Lines)), done[1:]
	}
	if strings.TrimSpace(text) == "" {
		return nil, `There is nothing to save yet. Ask me something first, or say: save a note that ...`
	}
	if len(done) == 0 {
		return ask(toolSave, map[string]any{"text": text}), ""
	}
	s, _ := decode[saved](done[0])
	return nil, savedAnswer(s)
}

// look searches the text for the words of the question, and quotes the best passage.
func (t talk) look() ([]lookup, string) {
	words := keywords(amount.ReplaceAllString(t.want.topic, ""))
	if len(words) == 0 {
		return nil, helpText
	}
	if len(t.results) == 0 {
		return ask(toolSearch, map[string]any{"query": strings.Join(words, " "), "limit": 8}), ""
	}
	f, _ := decode[found](t.results[0])
	return nil, lookAnswer(t.want, words, f)
}

// span returns the lines of an intent as arguments of a tool.
func (in intent) span() map[string]any {
	arguments := map[string]any{"from": in.from}
	if in.to != 0 {
		arguments["to"] = in.to
	}
	return arguments
}

// contraction matches short forms such as "I'm", which a search ignores. It does not match "don't".
var contraction = regexp.MustCompile(`(?i)^(?:\w+['’](?:m|re|ve|d|ll)|(?:it|that|what|who|where|when|how|there|he|she)['’]s)$`)

// amount matches words that ask for a number. A passage with the number need not contain these words.
var amount = regexp.MustCompile(`(?i)\bhow (?:much|many)\b`)

// keywords returns the words of a question to search for.
func keywords(question string) (words []string) {
	for word := range strings.FieldsSeq(question) {
		word = strings.Trim(word, "?!.,;:()\"“”„'`")
		if lower := strings.ToLower(word); lower != "" && !slices.Contains(common, lower) && !contraction.MatchString(lower) {
			words = append(words, word)
		}
	}
	return words
}

// common are words of most sentences, which a search ignores. The list has no words that change the
// meaning of a question: "not", "after", "more".
var common = strings.Fields(`a about also am an and are as at be because been but by can
	cannot could did do does exactly for from get gets getting go goes going got had happen
	happens has have he her here him his how i if in into is it its just let like make may me mean means might
	must my need needs of on or our per say says she should so some still
	that the their them then there these they this those to too up us use used using want was we were what when
	where which while who whom whose why will with would yet you your`)
