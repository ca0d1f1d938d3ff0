package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// wanted is a tool to call.
type wanted struct {
	tool      string
	arguments map[string]any
}

const helpText = `I am a set of rules and not a language model, but I do compute from your file. Ask me for example:
  how many rows are there?
  what is the total amount by city?
  which city has the highest total amount?
  the average price where city is X
  how many different cities are there?
  the top 3 rows by amount
  find "some text"
  compare the total amount of X and Y
  describe the columns
  show the first 5 rows`

// next says which tools are to be called, or what is to be said.
func (t talk) next() ([]wanted, string) {
	f, text := t.choose()
	if f == nil {
		return nil, text
	}
	q := understand(t.question, *f)
	if t.images > 0 {
		text = fmt.Sprintf("I can not see images (there are %d): that takes a language model. About the file: ", t.images)
	}
	if q.nothing() {
		return nil, text + helpText
	}
	if q.verb == "compare" {
		if other := t.other(*f); other != nil {
			return t.finish(q.compareFiles(*other), text)
		}
	}
	if q.verb != "search" && q.verb != "describe" {
		if missing := t.unsearched(q); len(missing) > 0 {
			return missing, text
		}
		unknown := ""
		if q, unknown = t.resolve(q); unknown != "" {
			return nil, text + unknown
		}
	}
	call, problem := q.call()
	if problem != "" {
		return nil, text + problem
	}
	return t.finish(call, text)
}

// nothing reports whether no rule fits.
func (q question) nothing() bool {
	return q.verb == "" && q.groupBy == "" && q.order == 0 && len(q.conditions) == 0 && len(q.columns) == 0 && len(q.values) == 0
}

// choose picks the file that the question names, or whose columns it names, or the
// newest.
func (t talk) choose() (*file, string) {
	if len(t.files) == 0 {
		if t.images > 0 {
			return nil, "I can not see images: that takes a language model. And there is no CSV file in this session yet."
		}
		return nil, "There is no CSV file in this session yet. Upload one, then ask me about it.\n" + helpText
	}
	best, score := -1, -1
	for i, f := range t.files {
		if f.RowCount == nil {
			continue
		}
		n := mark(split(t.question), f.Columns)
		if t.names(f) {
			n += 1000
		}
		if n >= score {
			best, score = i, n
		}
	}
	if best < 0 {
		return nil, "None of the files in this session can be read."
	}
	return &t.files[best], ""
}

// names reports whether the question names a file.
func (t talk) names(f file) bool {
	text := strings.ToLower(t.question)
	name := strings.ToLower(f.Name)
	bare := name[:max(0, strings.LastIndexByte(name, '.'))]
	return strings.Contains(text, name) || bare != "" && slices.ContainsFunc(split(text), func(w word) bool { return w.text == bare || w.stem == stem(bare) })
}

// other is a second file that the question names.
func (t talk) other(f file) *file {
	for i, o := range t.files {
		if o.ID != f.ID && o.RowCount != nil && t.names(o) {
			return &t.files[i]
		}
	}
	return nil
}

// unsearched are searches for values whose columns are not known yet.
func (t talk) unsearched(q question) (out []wanted) {
	for _, v := range q.values[:min(len(q.values), 5)] {
		if _, ok := t.searched(v); !ok {
			out = append(out, wanted{"searchCsvText", map[string]any{"resourceId": q.file.ID, "text": v, "limit": 1}})
		}
	}
	return out
}

// searched is the answer to a search that was made.
func (t talk) searched(value string) (found, bool) {
	for _, s := range t.steps {
		var in struct {
			Text string `json:"text"`
		}
		if s.call.Name == "searchCsvText" && json.Unmarshal(s.call.Arguments, &in) == nil && in.Text == value {
			var f found
			if json.Unmarshal([]byte(s.answer), &f) != nil {
				f = found{}
			}
			return f, true
		}
	}
	return found{}, false
}

// resolve makes conditions of values: the column is the one that has them. What a
// file does not have is said, as an answer without it would be one to another question.
func (t talk) resolve(q question) (question, string) {
	var nowhere []string
	for _, s := range t.steps {
		if s.failed {
			return q, "That did not work: " + s.answer
		}
	}
	for _, v := range q.values[:min(len(q.values), 5)] {
		f, _ := t.searched(v)
		if len(f.In) == 0 {
			nowhere = append(nowhere, strconv.Quote(v))
			continue
		}
		best := slices.MaxFunc(f.In, func(a, b foundIn) int {
			return int(a.Equal-b.Equal)*1_000_000 + int(a.Rows-b.Rows)
		})
		c := condition{Column: best.Column, Op: "contains", Value: v}
		if best.Equal > 0 {
			c.Op = "eq"
		}
		q.conditions = append(q.conditions, c)
	}
	if len(nowhere) == 0 {
		return q, ""
	}
	return q, fmt.Sprintf("I find %s nowhere in %s. Its columns are %s.\n%s", strings.Join(nowhere, ", "), q.file.Name, q.columnNames(), helpText)
}

func (q question) columnNames() string {
	names := make([]string, len(q.file.Columns))
	for i, c := range q.file.Columns {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// call is the one that answers the question.
func (q question) call() (wanted, string) {
	arguments := map[string]any{"resourceId": q.file.ID}
	switch q.verb {
	case "describe":
		if len(q.columns) > 0 {
			arguments["columns"] = q.columns
		}
		return wanted{"getCsvStatistics", arguments}, ""
	case "search":
		if len(q.values) == 0 {
			return wanted{}, "What am I to look for? Put it in quotes."
		}
		arguments["text"] = strings.Join(q.values, " ")
		return wanted{"searchCsvText", arguments}, ""
	case "compare":
		return q.compareGroups()
	}
	if q.verb == "figure" || q.groupBy != "" || q.order != 0 && q.n == 0 && len(q.columns) == 1 {
		return q.figures(arguments)
	}
	return q.rows(arguments)
}

// rows asks for rows.
func (q question) rows(arguments map[string]any) (wanted, string) {
	if q.n > 0 {
		arguments["limit"] = q.n
	} else {
		arguments["limit"] = 10
	}
	if q.order != 0 && len(q.columns) > 0 {
		arguments["orderBy"], arguments["descending"] = q.columns[len(q.columns)-1], q.order > 0
	} else if len(q.columns) > 0 {
		arguments["columns"] = q.columns
	}
	if len(q.conditions) == 0 {
		return wanted{"loadCsvData", arguments}, ""
	}
	arguments["conditions"] = q.conditions
	return wanted{"filterCsvRows", arguments}, ""
}

// figures asks for aggregates.
func (q question) figures(arguments map[string]any) (wanted, string) {
	f, problem := q.figure()
	if problem != "" {
		return wanted{}, problem
	}
	arguments["aggregates"] = []figure{f}
	if q.groupBy != "" {
		arguments["groupBy"] = []string{q.groupBy}
		arguments["orderBy"], arguments["descending"] = f.name(), q.order >= 0
		if q.n > 0 {
			arguments["limit"] = q.n
		}
	}
	if len(q.conditions) == 0 {
		return wanted{"aggregateCsvData", arguments}, ""
	}
	arguments["conditions"] = q.conditions
	return wanted{"filterAndAggregateCsvData", arguments}, ""
}

// figure is the aggregate that is asked for.
func (q question) figure() (figure, string) {
	f := figure{Function: q.function}
	if f.Function == "" {
		f.Function = map[int]string{1: "max", -1: "min", 0: "count"}[q.order]
		if q.most && q.groupBy != "" {
			f.Function = "sum"
			if len(q.columns) == 0 {
				f.Function = "count"
			}
		}
	}
	if f.Function == "count" {
		return f, ""
	}
	for _, name := range q.columns {
		i := slices.IndexFunc(q.file.Columns, func(c column) bool { return c.Name == name })
		if q.file.Columns[i].number() || f.Function == "count_distinct" || f.Function == "max" || f.Function == "min" {
			f.Column = name
			return f, ""
		}
	}
	if i := q.numberColumn(nil); i > 0 && f.Function != "count_distinct" {
		f.Column = q.file.Columns[i-1].Name
		return f, ""
	}
	return f, fmt.Sprintf("Of which column? %s has %s.", q.file.Name, q.columnNames())
}

func (q question) compareGroups() (wanted, string) {
	if len(q.conditions) < 2 {
		return wanted{}, "What am I to compare? Name two values, such as: compare the total amount of X and Y."
	}
	f, problem := q.figure()
	if problem != "" {
		return wanted{}, problem
	}
	side := func(c condition) map[string]any {
		return map[string]any{"resourceId": q.file.ID, "conditions": []condition{c}}
	}
	return wanted{"compareCsvData", map[string]any{"left": side(q.conditions[0]), "right": side(q.conditions[1]), "aggregate": f}}, ""
}

func (q question) compareFiles(other file) wanted {
	f, problem := q.figure()
	if problem != "" {
		f = figure{Function: "count"}
	}
	arguments := map[string]any{
		"left": map[string]any{"resourceId": q.file.ID}, "right": map[string]any{"resourceId": other.ID}, "aggregate": f,
	}
	if q.groupBy != "" {
		arguments["groupBy"] = q.groupBy
	}
	return wanted{"compareCsvData", arguments}
}

// finish makes the call that answers, or the answer if it was made.
func (t talk) finish(w wanted, text string) ([]wanted, string) {
	arguments, err := json.Marshal(w.arguments)
	if err != nil {
		return nil, text + helpText
	}
	for _, s := range t.steps {
		if s.call.Name == w.tool && sameJSON(s.call.Arguments, arguments) {
			return nil, text + t.answer(s)
		}
	}
	return []wanted{w}, text
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, err1 := json.Marshal(x)
	q, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && string(p) == string(q)
}
