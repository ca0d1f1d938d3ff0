package csvtools

import (
	"context"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/tools"
)

// A SessionID names the session whose files the tools see. The program sets it, with [tools.WithBound] or a
// binding.
type SessionID string

// Files finds the database of a file of a session, by the file's id or its name.
// The caller closes the database.
type Files func(ctx context.Context, session, file string) (*csvdb.DB, error)

// The inputs of the tools, and the parts that they share.
type (
	file struct {
		Resource string `json:"resourceId" jsonschema:"the id or the name of a file"`
		Session  tools.Bound[SessionID]
	}
	filter struct {
		Conditions []csvdb.Condition `json:"conditions" jsonschema:"the conditions for a row"`
		Match      string            `json:"match,omitempty" enum:"all,any" jsonschema:"whether a row fulfils all conditions (the default) or any of them"`
	}
	figures struct {
		GroupBy    []string          `json:"groupBy,omitempty" jsonschema:"columns; the result has a row for each of their values"`
		Period     string            `json:"period,omitempty" enum:"day,month,quarter,year" jsonschema:"groups the dates of groupBy by this period"`
		Aggregates []csvdb.Aggregate `json:"aggregates"`
	}
	part struct {
		OrderBy    string `json:"orderBy,omitempty" jsonschema:"a column, or an aggregate by its function and column, such as: sum amount"`
		Descending bool   `json:"descending,omitempty"`
		Limit      int    `json:"limit,omitempty" jsonschema:"the maximum number of rows: 20 by default, at most 100"`
	}

	loadInput struct {
		file
		Columns []string `json:"columns,omitempty"`
		Offset  int      `json:"offset,omitempty" jsonschema:"the number of rows to skip"`
		part
	}
	filterInput struct {
		file
		filter
		Columns []string `json:"columns,omitempty"`
		part
	}
	aggregateInput struct {
		file
		figures
		part
	}
	filterAggregateInput struct {
		file
		filter
		figures
		part
	}
	statisticsInput struct {
		file
		Columns []string `json:"columns,omitempty"`
	}
	searchInput struct {
		file
		Text    string   `json:"text" jsonschema:"the text to find, in upper or lower case"`
		Columns []string `json:"columns,omitempty"`
		Limit   int      `json:"limit,omitempty"`
	}
)

// looks are the titles of the tools, and the forms in which a page shows their results.
var looks = map[string]tools.Annotations{
	"loadCsvData":               {Title: "Show rows", Result: "table"},
	"filterCsvRows":             {Title: "Filter rows", Result: "table"},
	"aggregateCsvData":          {Title: "Compute figures", Result: "chart"},
	"filterAndAggregateCsvData": {Title: "Compute figures of some rows", Result: "chart"},
	"getCsvStatistics":          {Title: "Describe columns"},
	"searchCsvText":             {Title: "Search for a text"},
	"compareCsvData":            {Title: "Compare", Result: "table"},
}

// New returns the seven tools.
func New(files Files) (*tools.Set, error) {
	b := box{files}
	list := []tools.Tool{
		tools.New("loadCsvData", "Returns rows of a CSV file, in the order of the file or of a column.", b.load),
		tools.New("filterCsvRows", "Returns the rows of a CSV file that fulfil conditions.", b.filter),
		tools.New("aggregateCsvData", "Computes figures of all rows of a CSV file, or of each group of rows. Empty cells have no value: they count in no sum, average or median.", b.aggregate),
		tools.New("filterAndAggregateCsvData", "Computes figures like aggregateCsvData, of the rows that fulfil conditions.", b.filterAggregate),
		tools.New("getCsvStatistics", "Describes columns of a CSV file: type, empty cells, number of different values, minimum, maximum, mean, median, most frequent values.", b.statistics),
		tools.New("searchCsvText", "Finds the rows of a CSV file that contain a text in any column, and counts them by column. For a column of type boolean, yes finds true, too, and no finds false.", b.search),
		tools.New("compareCsvData", "Computes one figure for two files, or for two selections of rows, and the difference: right minus left.", b.compare),
	}
	for i := range list {
		a := looks[list[i].Name()]
		a.Category, a.ReadOnly, a.Idempotent = "csv", true, true
		list[i] = list[i].Annotate(a)
	}
	return tools.NewSet(list...)
}

// box implements the tools.
type box struct{ files Files }

// selected is the result of a selection for the model.
type selected struct {
	csvdb.Table
	// Truncated says that there are more rows than were returned.
	Truncated bool `json:"truncated,omitempty"`
}

func (b box) selection(ctx context.Context, f file, s csvdb.Selection) (selected, error) {
	db, err := b.files(ctx, string(f.Session.Value()), f.Resource)
	if err != nil {
		return selected{}, err
	}
	defer db.Close()
	t, err := db.Select(ctx, s)
	return selected{Table: t, Truncated: int64(s.Offset+len(t.Rows)) < t.Matched}, err
}

func (b box) load(ctx context.Context, in loadInput) (selected, error) {
	return b.selection(ctx, in.file, in.of(csvdb.Selection{Columns: in.Columns, Offset: in.Offset}))
}

func (b box) filter(ctx context.Context, in filterInput) (selected, error) {
	return b.selection(ctx, in.file, in.of(csvdb.Selection{Columns: in.Columns, Where: in.Conditions, Any: in.Match == "any"}))
}

// computed are figures in the form that the page draws.
type computed struct {
	selected
	Title string `json:"title,omitempty"`
	Type  string `json:"type,omitempty"` // of the chart: line, or bar if it is empty
	Unit  string `json:"unit,omitempty"`
}

// manyBars is the maximum number of periods of a bar chart. More periods make a line chart.
const manyBars = 31

func (b box) compute(ctx context.Context, f file, in figures, s csvdb.Selection) (computed, error) {
	s.GroupBy, s.Period, s.Aggregates = in.GroupBy, in.Period, in.Aggregates
	found, err := b.selection(ctx, f, s)
	out := computed{selected: found}
	if err != nil || len(in.GroupBy) == 0 {
		return out, err
	}
	var titles, groups []string
	units := map[string]bool{}
	for i, c := range found.Columns {
		if i < len(in.GroupBy) {
			groups = append(groups, c.Name)
			continue
		}
		units[c.Currency], out.Unit = true, c.Currency
		titles = append(titles, in.Aggregates[i-len(in.GroupBy)].Title())
	}
	if len(units) > 1 {
		out.Unit = ""
	}
	out.Title = strings.Join(titles, ", ") + " by " + strings.Join(groups, ", ")
	if in.Period != "" && len(found.Rows) > manyBars {
		out.Type = "line"
	}
	return out, nil
}

func (b box) aggregate(ctx context.Context, in aggregateInput) (computed, error) {
	return b.compute(ctx, in.file, in.figures, in.of(csvdb.Selection{}))
}

func (b box) filterAggregate(ctx context.Context, in filterAggregateInput) (computed, error) {
	return b.compute(ctx, in.file, in.figures, in.of(csvdb.Selection{Where: in.Conditions, Any: in.Match == "any"}))
}

// of adds the order and the limit to a selection.
func (p part) of(s csvdb.Selection) csvdb.Selection {
	s.OrderBy, s.Descending, s.Limit = p.OrderBy, p.Descending, p.Limit
	return s
}

type statistics struct {
	RowCount int64              `json:"rowCount"`
	Columns  []csvdb.Statistics `json:"columns"`
	Notes    []string           `json:"notes,omitempty"`
}

func (b box) statistics(ctx context.Context, in statisticsInput) (statistics, error) {
	db, err := b.files(ctx, string(in.Session.Value()), in.Resource)
	if err != nil {
		return statistics{}, err
	}
	defer db.Close()
	columns, err := db.Statistics(ctx, in.Columns)
	return statistics{RowCount: db.Schema.RowCount, Columns: columns, Notes: db.Schema.Notes}, err
}

func (b box) search(ctx context.Context, in searchInput) (csvdb.Found, error) {
	db, err := b.files(ctx, string(in.Session.Value()), in.Resource)
	if err != nil {
		return csvdb.Found{}, err
	}
	defer db.Close()
	return db.Search(ctx, in.Text, in.Columns, in.Limit)
}
