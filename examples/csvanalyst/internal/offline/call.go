package offline

import (
	"slices"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A call is a tool to call.
type call struct {
	tool      string
	arguments arguments
}

// arguments are the arguments of a call. The most informative ones come first, because the page shows only the
// beginning of the arguments.
type arguments struct {
	Resource   string            `json:"resourceId,omitempty"`
	OrderBy    string            `json:"orderBy,omitempty"`
	Period     string            `json:"period,omitempty"`
	GroupBy    []string          `json:"groupBy,omitempty"`
	Aggregates []figure          `json:"aggregates,omitempty"`
	Conditions []csvdb.Condition `json:"conditions,omitempty"`
	Descending bool              `json:"descending,omitempty"`
	Limit      int               `json:"limit,omitempty"`
}

const (
	manyGroups = 100 // the most groups and rows that a tool returns
	ties       = 6   // rows to request for a superlative of one row, to find rows with the same value
)

// call returns the tool call that answers the question. If there is none, q.problem is the text of the answer.
func (q *question) call() call {
	switch {
	case q.problem != "":
	case q.describes:
		q.doubt(q.file.describe())
	case q.compares:
		q.settleComparison()
	case q.figure == nil && len(q.groups) > 0:
		q.doubt("Which figure by " + plain(q.groups[0]) + "? Ask, for example, for the number of rows by " + plain(q.groups[0]) + ".")
	case q.figure == nil:
		q.settleRows()
	}
	switch {
	case q.problem != "":
		return call{}
	case q.figure != nil:
		return q.figureCall()
	}
	return q.rowsCall()
}

// settleComparison groups by the column whose values the question compares.
func (q *question) settleComparison() {
	at := slices.IndexFunc(q.conditions, func(c csvdb.Condition) bool { return c.Op == "in" })
	if at < 0 || q.figure == nil || len(q.groups) > 0 {
		q.doubt("What shall I compare? Name a figure and two values of a column. " + q.file.columnList())
		return
	}
	q.groups = []string{q.conditions[at].Column}
}

// settleRows finds the column of a superlative. For "top 3 orders" it is the only column of money.
func (q *question) settleRows() {
	switch {
	case q.end == nil && !q.noun && q.n == 0:
		q.doubt(q.file.help(""))
	case q.lacksOrder() && q.noun:
		q.end.column = q.file.only(column.money)
	}
	if q.lacksOrder() {
		q.doubt("By which column? Name it, such as: top 3 rows by amount. " + q.file.columnList())
	}
}

// figureCall returns the call for a figure. A superlative orders the groups by their figure. Otherwise numbers and
// dates are in their own order, and other groups have the highest figure first.
func (q *question) figureCall() call {
	in := arguments{Resource: q.file.ID, Aggregates: []figure{*q.figure}, GroupBy: q.groups, Period: q.period}
	if len(q.groups) > 0 {
		c := q.file.named(q.groups[0])
		in.Limit = manyGroups
		switch {
		case q.end != nil:
			in.OrderBy, in.Descending, in.Limit = q.figure.Name(), q.end.order > 0, 10
			if c.Empty > 0 {
				q.conditions = append(slices.Clip(q.conditions), csvdb.Condition{Column: c.Name, Op: "not_empty"})
			}
		case q.period != "": // the tool orders by time
		case c.number() || c.dated():
			in.OrderBy = c.Name
		default:
			in.OrderBy, in.Descending = q.figure.Name(), true
		}
	}
	if in.Conditions = q.conditions; len(in.Conditions) == 0 {
		return call{"aggregateCsvData", in}
	}
	return call{"filterAndAggregateCsvData", in}
}

// rowsCall returns the call for rows. A superlative orders the rows by its column.
func (q *question) rowsCall() call {
	in := arguments{Resource: q.file.ID, Conditions: q.conditions, Limit: q.n}
	if q.end != nil {
		in.OrderBy, in.Descending = q.end.column.Name, q.end.order > 0
		if in.Limit <= 1 {
			in.Limit = ties
		}
	}
	if len(q.conditions) == 0 {
		return call{"loadCsvData", in}
	}
	return call{"filterCsvRows", in}
}
