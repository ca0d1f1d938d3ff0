package offline

import (
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A call is a tool to call.
type call struct {
	tool      string
	arguments arguments
}

// arguments are the arguments of a call. The first ones tell most, because the page shows the beginning.
type arguments struct {
	Resource   string            `json:"resourceId,omitempty"`
	OrderBy    string            `json:"orderBy,omitempty"`
	Period     string            `json:"period,omitempty"`
	GroupBy    []string          `json:"groupBy,omitempty"`
	Aggregates []figure          `json:"aggregates,omitempty"`
	Columns    []string          `json:"columns,omitempty"`
	Conditions []csvdb.Condition `json:"conditions,omitempty"`
	Descending bool              `json:"descending,omitempty"`
	Limit      int               `json:"limit,omitempty"`
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
	case q.tokens[0].kind == joint && len(q.figures)+len(q.ends)+len(q.groups) == 0 && q.verb == "" && !q.noun: // "and in Bern?"
		return call{}, "Ask the whole question again."
	case q.verb == "describe" && len(q.figures)+len(q.groups)+len(q.ends)+len(q.conditions)+len(q.columns)+q.n > 0:
		return call{}, q.file.help("I can only describe the whole file.")
	case q.verb == "describe":
		return call{}, q.file.describe()
	}
	if problem := q.settle(); problem != "" {
		return call{}, problem
	}
	if len(q.figures) > 0 {
		return q.figuresCall(), ""
	}
	return q.rowsCall()
}

// hint says how to name a value that the prompt does not list.
func (q *question) hint() string {
	at := slices.IndexFunc(q.file.Columns, func(c column) bool { return c.Type == "text" && len(c.Values) == 0 && !c.Unique })
	if at < 0 || q.strange == "" {
		return ""
	}
	return " If it is a value, name its column, such as: " + plain(q.file.Columns[at].Name) + " is \"" + shorten(plain(q.strange), 60) + "\"."
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "\"" + shorten(plain(s), 60) + "\""
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

// end returns the superlative of the question, or one without an order.
func (q *question) end() end {
	if len(q.ends) == 0 {
		return end{}
	}
	return q.ends[0]
}

// settle finds out what superlatives and columns are for. It returns why the question has no answer.
func (q *question) settle() string {
	e := q.end()
	ofFigures := len(q.figures) > 0 && (e.column != nil || e.about == rows && q.figures[0].Function != "count")
	if len(q.ends) > 1 || ofFigures {
		return "I can answer for one superlative at a time. Ask, for example: the highest " + plain(q.file.example()) + "."
	}
	if problem := q.settleComparison(); problem != "" {
		return problem
	}
	at := slices.IndexFunc(q.columns, func(c *column) bool { return c.Type == csvdb.Text })
	if e.order != 0 && at >= 0 && len(q.groups) == 0 && (e.about == rows || q.n > 0 || len(q.figures) > 0) { // "top 5 customers by total amount"
		q.groups, q.columns = []string{q.columns[at].Name}, slices.Delete(slices.Clone(q.columns), at, at+1)
	}
	switch {
	case len(q.figures) > 0:
		return q.settleFigures()
	case len(q.groups) > 0:
		return q.chooseFigure()
	}
	return ""
}

// chooseFigure finds the figure of groups for which the question names no function.
func (q *question) chooseFigure() string {
	e := q.end()
	ofColumn := e.column != nil && e.about != rows && q.n == 0
	switch {
	case ofColumn && q.which: // "which city has the highest amount": a row says it
		for _, name := range q.groups {
			q.columns = append(q.columns, q.file.named(name))
		}
		q.groups = nil
	case ofColumn && len(q.columns) == 0: // "the highest amount by city"
		q.figures = []figure{newFigure(map[int]string{1: "max", -1: "min"}[e.order], e.column.Name)}
	case len(q.ends)+q.n > 0 && e.about != rows, e.column != nil, len(q.columns) > 0:
		return "By which figure? Ask, for example, for the total " + plain(q.file.example()) + " by " + plain(q.groups[0]) + "."
	default:
		q.figures = []figure{newFigure("count", "")}
	}
	return ""
}

// settleComparison makes groups of the values that are to be compared.
func (q *question) settleComparison() string {
	at := slices.IndexFunc(q.conditions, func(c csvdb.Condition) bool { return c.Op == "in" })
	switch {
	case q.verb != "compare":
		return ""
	case at < 0 || len(q.groups)+len(q.ends)+q.n > 0:
		return "What shall I compare? Name two values of a column, such as: compare the total " + plain(q.file.example()) + " of X and Y."
	}
	q.groups = []string{q.conditions[at].Column}
	return ""
}

// settleFigures settles each figure, and refuses columns that have no purpose.
func (q *question) settleFigures() string {
	if len(q.ends)+q.n > 0 && (len(q.groups) == 0 || len(q.ends) == 0) {
		return "I do not know which group is meant. Ask, for example: which " + plain(q.file.group()) + " has the highest total " + plain(q.file.example()) + "?"
	}
	for i := range q.figures {
		if problem := q.settleFigure(&q.figures[i]); problem != "" {
			return problem
		}
	}
	if len(q.columns) > 0 {
		return q.file.help("I did not understand what " + quoted(namesOf(q.columns)) + " is for.")
	}
	return ""
}

// settleFigure gives a figure without a column the only one that can be meant. A total of a word for rows is their number.
func (q *question) settleFigure(f *figure) string {
	c := q.file.measure()
	counted := func(c column) bool { return c.quantity() && slices.Contains(stems(c.Name), f.noun) }
	switch {
	case f.Function == "count" && !q.file.nouns()[f.noun] && slices.ContainsFunc(q.file.Columns, counted): // "how many sales"
		return rowsOrTotal(q.file.example())
	case f.Function == "count" || f.Column != "":
	case f.noun != "" && f.Function != "sum":
		return "I cannot compute with numbers of rows. Ask for the number of rows of each group."
	case set("sale purchase transaction")[f.noun]:
		return rowsOrTotal(q.file.example())
	case f.noun != "":
		f.Function = "count"
	case c == nil || f.Function == "count_distinct" || len(q.figures) > 1:
		return "Of which column is the " + strings.TrimSpace(f.inFull()) + "? " + q.file.columnList()
	default:
		f.Column = c.Name
	}
	return ""
}

func rowsOrTotal(column string) string {
	return "Do you mean the number of rows, or the total " + plain(column) + "? Ask for one of them."
}

// figuresCall asks for figures. Groups come in their order, or with a superlative the highest or lowest first.
func (q *question) figuresCall() call {
	in := arguments{Resource: q.file.ID, Aggregates: q.figures, GroupBy: q.groups, Period: q.period}
	if len(q.groups) > 0 {
		c, byFigure := q.file.named(q.groups[0]), q.figures[0].Name()
		in.Limit = manyGroups
		switch {
		case len(q.ends)+q.n > 0:
			in.OrderBy, in.Descending = byFigure, q.end().order >= 0
			if in.Limit = 10; q.n > 1 {
				in.Limit = min(q.n, manyGroups)
			}
			if c.Empty > 0 {
				q.conditions = append(slices.Clip(q.conditions), csvdb.Condition{Column: c.Name, Op: "not_empty"})
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
		if in.Limit <= 1 {
			in.Limit = ties
		}
	}
	if len(q.conditions) == 0 {
		return call{"loadCsvData", in}, ""
	}
	return call{"filterCsvRows", in}, ""
}
