package offline

import (
	"regexp"
	"slices"
	"strings"
)

// next is what to look up, or else the answer.
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
	}
	return t.define()
}

func ask(tool string, arguments map[string]any) []lookup { return []lookup{{tool, arguments}} }

func (t talk) where() ([]lookup, string) {
	if t.want.topic == "" {
		return nil, "Where is what? Name a word that I can look for."
	}
	if len(t.results) == 0 {
		return ask(toolSearch, map[string]any{"query": query(t.want.topic), "limit": 10}), ""
	}
	f, _ := decode[found](t.results[0])
	return nil, whereAnswer(t.want.topic, f)
}

func (t talk) count() ([]lookup, string) {
	if len(t.results) == 0 {
		arguments := span(t.want.from, t.want.to)
		if t.want.topic != "" {
			arguments["word"] = t.want.topic
		}
		return ask(toolCount, arguments), ""
	}
	c, _ := decode[counted](t.results[0])
	return nil, countAnswer(t.want, c)
}

func (t talk) lines() ([]lookup, string) {
	if len(t.results) == 0 {
		return ask(toolRead, span(t.want.from, t.want.to)), ""
	}
	p, _ := decode[passage](t.results[0])
	return nil, linesAnswer(p)
}

// summary asks two tools at once.
func (t talk) summary() ([]lookup, string) {
	if len(t.results) == 0 {
		return []lookup{{toolOutline, map[string]any{}}, {toolCount, map[string]any{}}}, ""
	}
	o, _ := decode[outline](t.results[0])
	c, _ := decode[counted](t.results[1])
	return nil, summaryAnswer(t.want, o, c)
}

// save reads the lines first when those are to be saved.
func (t talk) save() ([]lookup, string) {
	text := t.want.topic
	done := t.results
	if t.want.from != 0 {
		if len(done) == 0 {
			return ask(toolRead, span(t.want.from, t.want.to)), ""
		}
		p, _ := decode[passage](done[0])
		text, done = quote(p.Lines), done[1:]
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

// define looks for the topic, reads around the best line and quotes that. It
// also serves questions that no rule fits, with all that they say as the topic.
func (t talk) define() ([]lookup, string) {
	if t.want.topic == "" || query(t.want.topic) == "" {
		return nil, helpText
	}
	if len(t.results) == 0 {
		return ask(toolSearch, map[string]any{"query": query(t.want.topic), "limit": 5}), ""
	}
	f, _ := decode[found](t.results[0])
	if len(f.Lines) == 0 {
		return nil, nothing(t.want.topic, f)
	}
	best := f.Lines[0].Number
	if len(t.results) == 1 {
		return ask(toolRead, span(max(best-4, 1), best+9)), ""
	}
	p, _ := decode[passage](t.results[1])
	return nil, defineAnswer(t.want, f, paragraph(p.Lines, best))
}

func span(from, to int) map[string]any {
	arguments := map[string]any{}
	if from != 0 {
		arguments["from"] = from
	}
	if to != 0 {
		arguments["to"] = to
	}
	return arguments
}

// query is the words of a topic that are worth looking for.
func query(topic string) string {
	var words []string
	for word := range strings.FieldsSeq(topic) {
		bare := strings.ToLower(strings.Trim(word, "?!.,;:()\"“”„'`"))
		if bare != "" && !slices.Contains(common, bare) {
			words = append(words, strings.Trim(word, "?!,;()\"“”„`"))
		}
	}
	if len(words) == 0 {
		return strings.TrimSpace(topic)
	}
	return strings.Join(words, " ")
}

// common words stand in most sentences and tell none of them apart.
var common = strings.Fields(`a about after all also am an and any are as at be because been but by can
	could did do does each for from get gets give had has have he her here him his how i if in into is it
	its let like make many may me mean means might more most much must my need needs no not of on one only
	or our out say says she should so some such than that the their them then there these they this those
	to too up us use used using want was we were what when where which who whom whose why will with
	would you your`)

// begins is how an entry of a list and a heading begin.
var begins = regexp.MustCompile(`^\s*([-*+•] |\d+[.)] |#)`)

// paragraph cuts what was read down to the paragraph, or the entry of a list,
// of one line. A heading takes the paragraph below it along.
func paragraph(read []line, best int) []line {
	at := slices.IndexFunc(read, func(l line) bool { return l.Number == best })
	if at < 0 {
		return read
	}
	from := at
	for !blank(read, from-1) && at-from < 3 && !begins.MatchString(read[from].Text) {
		from--
	}
	return read[from:paragraphEnd(read, from, at)]
}

func paragraphEnd(read []line, from, at int) int {
	to := at + 1
	heading := strings.HasPrefix(read[at].Text, "#") || blank(read, at-1) && blank(read, at+1)
	for heading && to < len(read) && blank(read, to) {
		to++
	}
	for !blank(read, to) && to-from < 8 && (heading || !begins.MatchString(read[to].Text)) {
		to++
	}
	return to
}

// blank reports whether a line is empty, or out of range.
func blank(read []line, i int) bool {
	return i < 0 || i >= len(read) || strings.TrimSpace(read[i].Text) == ""
}
