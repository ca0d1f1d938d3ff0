package offline

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A call is a tool to call.
type call struct {
	tool      string
	arguments arguments
}

// arguments of a call. What the call is about comes first, because the page shows the beginning.
type arguments struct {
	Resource   string      `json:"resourceId,omitempty"`
	OrderBy    string      `json:"orderBy,omitempty"`
	Period     string      `json:"period,omitempty"`
	GroupBy    []string    `json:"groupBy,omitempty"`
	Aggregates []figure    `json:"aggregates,omitempty"`
	Columns    []string    `json:"columns,omitempty"`
	Conditions []condition `json:"conditions,omitempty"`
	Descending bool        `json:"descending,omitempty"`
	Limit      int         `json:"limit,omitempty"`
}

// json writes the arguments. Texts, numbers and lists of them can always be written.
func (a arguments) json() json.RawMessage {
	data, err := json.Marshal(a)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}

// sameJSON reports whether two texts are the same arguments, whatever the order of their fields.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// small reads a number of rows or groups. It is 0 for other numbers.
func small(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

const (
	manyGroups = 100 // the most groups and rows that a tool returns
	ties       = 6   // rows that are asked for to see whether the first is the only one
)

// call returns the call that answers the question, or why there is none.
func (q *question) call() (call, string) {
	switch {
	case !slices.ContainsFunc(q.tokens, func(t token) bool { return t.kind != mark && t.kind != joint }):
		return call{}, q.file.help("")
	case len(q.rejected) > 0:
		return call{}, q.file.help("I did not understand " + quoted(q.rejected) + "." + q.hint())
	case q.problem != "":
		return call{}, q.problem
	case q.verb == "describe":
		return q.describe()
	}
	if problem := q.settle(); problem != "" {
		return call{}, problem
	}
	if len(q.figures)+len(q.groups)+len(q.ends)+len(q.conditions)+q.n == 0 && !q.noun && len(q.columns) == 1 {
		return q.columnCall(q.columns[0])
	}
	if len(q.figures)+len(q.groups) > 0 {
		return q.figuresCall(), ""
	}
	return q.rowsCall()
}

// columnCall asks for the values of a column that is all of a question: "salary", "which departments are there".
func (q *question) columnCall(c *column) (call, string) {
	switch {
	case c.Type == "text" && (q.verb == "" || len(c.Values) > 0):
		q.groups, q.columns = []string{c.Name}, nil
		return q.figuresCall(), ""
	case q.verb == "":
		return q.describe()
	}
	return q.rowsCall()
}

// hint says how to name a value that the prompt does not list.
func (q *question) hint() string {
	at := slices.IndexFunc(q.file.Columns, func(c column) bool { return c.Type == "text" && len(c.Values) == 0 && !c.Unique })
	if at < 0 || q.strange == "" {
		return ""
	}
	return " If it is a value, name its column, such as: " + plain(q.file.Columns[at].Name) + " is \"" + shorten(plain(q.strange)) + "\"."
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "\"" + shorten(plain(s)) + "\""
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

func namesOf(columns []*column) (out []string) {
	for _, c := range columns {
		out = append(out, c.Name)
	}
	return out
}

func (q *question) describe() (call, string) {
	if len(q.figures)+len(q.groups)+len(q.ends)+len(q.conditions)+q.n > 0 {
		return call{}, q.file.help("I can only describe whole columns.")
	}
	return call{"getCsvStatistics", arguments{Resource: q.file.ID, Columns: namesOf(q.columns)}}, ""
}

// settle finds out what superlatives and columns are for. It returns why the question has no answer.
func (q *question) settle() string {
	if problem := pick(q.settleEnds(), q.settleComparison()); problem != "" {
		return problem
	}
	byRows := len(q.ends) > 0 && q.ends[0].about == rows
	if at := slices.IndexFunc(q.columns, func(c *column) bool { return c.Type == "text" }); at >= 0 && len(q.groups) == 0 && (byRows || len(q.ends) > 0 && (q.n > 0 || len(q.figures) > 0)) {
		q.groups, q.columns = []string{q.columns[at].Name}, slices.Delete(slices.Clone(q.columns), at, at+1) // "top 5 customers by total amount"
	}
	if len(q.figures) > 0 || len(q.groups) == 0 {
		return q.settleFigures()
	}
	return q.chooseFigure()
}

// chooseFigure finds the figure of groups for which the question names no function.
func (q *question) chooseFigure() string {
	var e end
	if len(q.ends) > 0 {
		e = q.ends[0]
	}
	switch {
	case e.column != nil && e.about == rows: // "which city has the most revenue"
		q.figures = []figure{{Function: "sum", Column: e.column.Name}}
	case e.column != nil && q.which && q.n == 0: // "which city has the highest amount": a row says it
		for _, name := range q.groups {
			q.columns = append(q.columns, q.file.named(name))
		}
		q.groups = nil
	case e.column != nil && q.n == 0 && len(q.columns) == 0: // "the highest amount by city"
		q.figures = []figure{{Function: map[int]string{1: "max", -1: "min"}[e.order], Column: e.column.Name}}
	case len(q.ends)+q.n > 0 && e.about != rows || len(q.columns) > 0:
		return "By which figure? Ask, for example, for the total " + plain(q.file.example()) + " by " + plain(q.groups[0]) + "."
	default:
		q.figures = []figure{{Function: "count"}}
	}
	return ""
}

// settleComparison makes groups of the values that are to be compared.
func (q *question) settleComparison() string {
	if q.verb != "compare" {
		return ""
	}
	at := slices.IndexFunc(q.conditions, func(c condition) bool { return c.Op == "in" })
	if at < 0 || len(q.groups)+len(q.ends)+q.n > 0 {
		return "What shall I compare? Name two values of a column, such as: compare the total " + plain(q.file.example()) + " of X and Y."
	}
	q.groups = []string{q.conditions[at].Column}
	return ""
}

// unique leaves out figures that repeat one before them.
func unique(figures []figure) (out []figure) {
	for _, f := range figures {
		if f.noun = ""; !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

func pick(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// settleEnds makes figures of several superlatives: "the highest and the lowest rating".
func (q *question) settleEnds() string {
	if len(q.ends) < 2 {
		return ""
	}
	if len(q.figures)+q.n > 0 {
		return "I can answer for one superlative at a time. Ask, for example: the highest " + plain(q.file.example()) + "."
	}
	var c *column
	for _, e := range slices.Backward(q.ends) {
		if e.column != nil {
			c = e.column
		}
		if e.about == rows || c == nil {
			return "By which column? " + q.file.columnList()
		}
		q.figures = append(q.figures, figure{Function: map[int]string{1: "max", -1: "min"}[e.order], Column: c.Name})
	}
	slices.Reverse(q.figures)
	q.ends = nil
	return ""
}

// settleFigures gives each figure its column, and refuses columns that have no purpose.
func (q *question) settleFigures() string {
	if len(q.figures) == 0 {
		return ""
	}
	if len(q.ends)+q.n > 0 && len(q.groups) == 0 {
		return "I do not know which group is meant. Ask, for example: which " + plain(pick(q.file.group(), "row")) + " has the highest total " + plain(q.file.example()) + "?"
	}
	for i := range slices.Backward(q.figures) {
		if f := &q.figures[i]; f.Function != "count" && f.Column == "" {
			if problem := q.settleFigure(f, i); problem != "" {
				return problem
			}
		}
	}
	q.figures = unique(q.figures)
	if len(q.columns) > 0 {
		return q.file.help("I did not understand what " + quoted(namesOf(q.columns)) + " is for.")
	}
	return ""
}

// settleFigure finds the column of a figure: that of its neighbour, as in "total and average amount", or the only one.
// A total of a word for rows is their number.
func (q *question) settleFigure(f *figure, i int) string {
	switch {
	case f.noun != "" && f.Function != "sum":
		return "I cannot compute with numbers of rows. Ask for the number of rows of each group."
	case set("sale purchase transaction")[f.noun]:
		return "Do you mean the number of rows, or the total " + plain(q.file.example()) + "? Ask for one of them."
	case f.noun != "":
		f.Function = "count"
		return ""
	}
	for _, near := range []int{i + 1, i - 1} {
		if near >= 0 && near < len(q.figures) && f.Column == "" {
			f.Column = q.figures[near].Column
		}
	}
	if c := q.file.measure(); c != nil && f.Column == "" && f.Function != "count_distinct" {
		f.Column = c.Name
	}
	if f.Column == "" {
		return "Of which column? " + q.file.columnList()
	}
	return ""
}

// figuresCall asks for figures, and of groups for those with the highest first, or in their order.
func (q *question) figuresCall() call {
	if len(q.figures) == 0 {
		q.figures = []figure{{Function: "count"}}
	}
	in := arguments{Resource: q.file.ID, Aggregates: q.figures, GroupBy: q.groups, Period: q.period}
	if len(q.groups) > 0 {
		c, byFigure := q.file.named(q.groups[0]), q.figures[0].name()
		in.Limit = manyGroups
		switch {
		case len(q.ends)+q.n > 0:
			in.OrderBy, in.Descending, in.Limit = byFigure, q.order() >= 0, 10
			if q.n > 0 {
				in.Limit = min(q.n, manyGroups)
			}
			if c.Empty > 0 {
				q.conditions = append(slices.Clip(q.conditions), condition{Column: c.Name, Op: "not_empty"})
			}
		case q.period != "": // the tool orders by time
		case c.number() || c.dated():
			in.OrderBy = c.Name
		default:
			in.OrderBy, in.Descending = byFigure, true
		}
	}
	if in.Conditions = q.conditions; len(in.Conditions) == 0 {
		return call{"aggregateCsvData", in}
	}
	return call{"filterAndAggregateCsvData", in}
}

func (f figure) name() string {
	return strings.TrimSpace(strings.ReplaceAll(f.Function, "_", " ") + " " + f.Column)
}

// order is 1 for the highest values first, -1 for the lowest, and 0 for the order of the file.
func (q *question) order() int {
	if len(q.ends) == 0 {
		return 0
	}
	return q.ends[0].order
}

// rowsCall asks for rows, in the order of a column if there is a superlative.
func (q *question) rowsCall() (call, string) {
	in := arguments{Resource: q.file.ID, Columns: namesOf(q.columns), Conditions: q.conditions, Limit: min(q.n, manyGroups)}
	if len(q.ends) > 0 {
		e := &q.ends[0]
		if e.column == nil && q.noun && e.about != rows {
			e.column = q.file.measure()
		}
		if e.column == nil {
			return call{}, "By which column? Name it, such as: the highest " + plain(q.file.example()) + ". " + q.file.columnList()
		}
		in.OrderBy, in.Descending, in.Columns = e.column.Name, e.order > 0, nil
		if in.Limit == 0 {
			in.Limit = ties
		}
	}
	if len(q.conditions) == 0 {
		return call{"loadCsvData", in}, ""
	}
	return call{"filterCsvRows", in}, ""
}
