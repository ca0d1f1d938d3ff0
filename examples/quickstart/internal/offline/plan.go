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
	}
	return t.define()
}

func ask(tool string, arguments map[string]any) []lookup { return []lookup{{tool, arguments}} }

func (t talk) where() ([]lookup, string) {
	if t.want.topic == "" {
		return nil, "Where is what? Name a word that I can look for."
	}
	if len(t.results) == 0 {
		return ask(toolFind, map[string]any{"query": query(t.want.topic), "limit": 10}), ""
	}
	f, _ := decode[foundLines](t.results[0])
	if f.Total == 0 && strings.Contains(query(t.want.topic), " ") { // no line has all words; a passage may
		t.results = t.results[1:]
		return t.define()
	}
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

// define searches for the topic and quotes the best passage. It also serves
// questions that no rule fits. Their topic is the whole question.
func (t talk) define() ([]lookup, string) {
	words := query(t.want.topic)
	if t.want.topic == "" || words == "" {
		return nil, helpText
	}
	for _, r := range t.results {
		f, _ := decode[found](r)
		if less := lighter(words, f.Missing); f.Total == 0 && less != words { // search again
			words = less
			continue
		}
		return nil, defineAnswer(t.want, words, f)
	}
	return ask(toolSearch, map[string]any{"query": words, "limit": 8}), ""
}

// light are words that say little about the subject of a question, and costs are those of which the other words say
// more: the price of another thing is no answer.
var light, costs = strings.Fields("bring come run take takes"), strings.Fields("charge cost costs pay price prices")

// lighter removes the costs, and the light words that the file lacks, if other words remain.
func lighter(words string, missing []string) string {
	rest := slices.DeleteFunc(strings.Fields(words), func(w string) bool {
		w = strings.ToLower(w)
		return slices.Contains(costs, w) || slices.Contains(light, w) && slices.Contains(missing, w)
	})
	if len(rest) == 0 {
		return words
	}
	return strings.Join(rest, " ")
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

// measures are questions that a text answers with a number, and seldom with the same word; see amounts.
var measures = regexp.MustCompile(`(?i)\bhow (often|long|heavy|big|large|high|tall|wide|deep|far|fast|late|loud|old|soon|quickly|frequently|many \w+|much)\b`)

// measure returns the word that says what a question measures: "long" of "how long".
func measure(topic string) string {
	m := measures.FindStringSubmatch(topic)
	if m == nil {
		return ""
	}
	return strings.ToLower(m[1])
}

// contraction matches short forms such as "don't" and "I'm", which a search ignores.
var contraction = regexp.MustCompile(`(?i)^(?:\w+n['’]t|\w+['’](?:m|re|ve|d|ll)|(?:it|that|what|who|where|when|how|there|he|she)['’]s)$`)

// query returns the words of a topic to search for.
func query(topic string) string {
	var words []string
	for word := range strings.FieldsSeq(topic) {
		bare := strings.ToLower(strings.Trim(word, "?!.,;:()\"“”„'`"))
		if bare != "" && !slices.Contains(common, bare) && !contraction.MatchString(bare) {
			words = append(words, strings.Trim(word, "?!,;()\"“”„`"))
		}
	}
	if len(words) == 0 {
		return strings.TrimSpace(topic)
	}
	return strings.Join(words, " ")
}

// common are words of most sentences; a search ignores them.
var common = strings.Fields(`a about after all also am an and any are as at be because been but by can
	cannot along already away could did do does each ever exactly few for from get gets getting go goes going got had happen
	happens has have he her here him his how i if in into is it its just let like make many may me mean means might more
	most much must my need needs new no not now of on one only or our out per say says she should so some somewhere still
	such than that the their them then there these they this those to too up us use used using want was we were what when
	where which while who whom whose why will with would yet you your`)
