package csvdb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

const sales = `id,city,Amount,day
1,Athens,10,2024-01-01
2,Bern,20.5,2024-01-02
3,Zürich,5,2024-01-03
4,athens,40,2024-01-04
5,,3,2024-01-05
`

func TestSelect(t *testing.T) {
	t.Parallel()
	db := imported(t, sales)
	where := func(column, op, value string, values ...string) csvdb.Selection {
		return csvdb.Selection{Columns: []string{"id"}, Where: []csvdb.Condition{{column, op, value, values}}}
	}
	tests := []struct {
		name string
		s    csvdb.Selection
		want string
	}{
		{"columns", csvdb.Selection{Columns: []string{"CITY", "id"}, Limit: 1}, `[["Athens",1]]`},
		{"offset", csvdb.Selection{Columns: []string{"id"}, Offset: 3}, `[[4],[5]]`},
		{"order", csvdb.Selection{Columns: []string{"id"}, OrderBy: "amount", Descending: true, Limit: 2}, `[[4],[2]]`},
		{"eq, whatever the case", where("city", "eq", "ATHENS"), `[[1],[4]]`},
		{"ne", where("city", "ne", "Athens"), `[[2],[3],[5]]`},
		{"gt", where("amount", "gt", "10"), `[[2],[4]]`},
		{"le", where("amount", "le", "5"), `[[3],[5]]`},
		{"dates", where("day", "ge", "2024-01-04"), `[[4],[5]]`},
		{"contains, in any script", where("city", "contains", "ZÜ"), `[[3]]`},
		{"contains in numbers", where("amount", "contains", "0.5"), `[[2]]`},
		{"starts with", where("city", "starts_with", "at"), `[[1],[4]]`},
		{"in", where("city", "in", "", "bern", "Zürich"), `[[2],[3]]`},
		{"between", where("amount", "between", "", "5", "10"), `[[1],[3]]`},
		{"empty", where("city", "empty", ""), `[[5]]`},
		{"not empty", where("city", "not_empty", ""), `[[1],[2],[3],[4]]`},
		{"an injection", where("city", "eq", `x' OR 1=1 --`), `[]`},
		{"all", csvdb.Selection{Columns: []string{"id"}, Where: []csvdb.Condition{{"id", "gt", "1", nil}, {"id", "lt", "3", nil}}}, `[[2]]`},
		{"any", csvdb.Selection{Columns: []string{"id"}, Any: true, Where: []csvdb.Condition{{"id", "lt", "2", nil}, {"id", "gt", "4", nil}}}, `[[1],[5]]`},
		{
			"figures",
			csvdb.Selection{Aggregates: []csvdb.Aggregate{{"count", ""}, {"count", "city"}, {"count_distinct", "city"}, {"sum", "amount"}, {"avg", "id"}, {"min", "day"}, {"max", "Amount"}, {"median", "amount"}}},
			`[[5,4,4,78.5,3,"2024-01-01",40,10]]`,
		},
		{"spread", csvdb.Selection{Aggregates: []csvdb.Aggregate{{"stddev", "id"}}}, `[[1.41]]`},
		{
			"groups",
			csvdb.Selection{GroupBy: []string{"city"}, Aggregates: []csvdb.Aggregate{{"sum", "amount"}}, OrderBy: "sum Amount", Descending: true, Limit: 2},
			`[["athens",40],["Bern",20.5]]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table, err := db.Select(t.Context(), tt.s)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(table.Rows); err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s\n%s", got, err, tt.want, table.SQL)
			}
		})
	}
}

const visits = `start,spent,member
2025-01-31 23:30,"$1,000.10",yes
2025-02-01 00:00,$0.20,No
2024-02-10 10:00,,TRUE
2025-04-01 09:00,$0.10,
,$5,no
`

func TestDatesAndAmounts(t *testing.T) {
	t.Parallel()
	db := imported(t, visits)
	rows := func(op, value string, values ...string) csvdb.Selection {
		return csvdb.Selection{Aggregates: []csvdb.Aggregate{{"count", ""}}, Where: []csvdb.Condition{{"start", op, value, values}}}
	}
	by := func(period string) csvdb.Selection {
		return csvdb.Selection{GroupBy: []string{"start"}, Period: period, Aggregates: []csvdb.Aggregate{{"sum", "spent"}}}
	}
	tests := []struct {
		name string
		s    csvdb.Selection
		want string
	}{
		{"on a day", rows("eq", "2025-01-31"), `[[1]]`},
		{"not on a day, or without a date", rows("ne", "31.01.2025"), `[[4]]`},
		{"after a day is after its end", rows("gt", "2025-01-31"), `[[2]]`},
		{"until a day is until its end", rows("le", "2025-01-31"), `[[2]]`},
		{"before a day", rows("lt", "2025-02-01"), `[[2]]`},
		{"from a day", rows("ge", "1 Feb 2025"), `[[2]]`},
		{"between days", rows("between", "", "2025-01-31", "2025-02-01"), `[[2]]`},
		{"on one of two days", rows("in", "", "2025-01-31", "2025-04-01"), `[[2]]`},
		{"at a time", rows("eq", "2025-02-01 00:00:00"), `[[1]]`},
		{"in a year", rows("in_period", "2025"), `[[3]]`},
		{"in a quarter", rows("in_period", "2025-Q1"), `[[2]]`},
		{"in a month", rows("in_period", "2025-02"), `[[1]]`},
		{"in a month of any year", rows("in_period", "--02"), `[[2]]`},
		{"yes in another word", csvdb.Selection{Columns: []string{"member"}, Where: []csvdb.Condition{{"member", "eq", "True", nil}}}, `[["yes"],["TRUE"]]`},
		{"no in another case", csvdb.Selection{Columns: []string{"member"}, Where: []csvdb.Condition{{"member", "in", "", []string{"false"}}}}, `[["No"],["no"]]`},
		{"groups of yes and no", csvdb.Selection{GroupBy: []string{"member"}, Aggregates: []csvdb.Aggregate{{"count", ""}}, OrderBy: "member"}, `[["no",2],["yes",2],[null,1]]`},
		{"values of yes and no", csvdb.Selection{Aggregates: []csvdb.Aggregate{{"count_distinct", "member"}, {"min", "member"}}}, `[[2,"no"]]`},
		{"months, by time", by("month"), `[["2024-02",null],["2025-01",1000.1],["2025-02",0.2],["2025-04",0.1],[null,5]]`},
		{"quarters", by("quarter"), `[["2024-Q1",null],["2025-Q1",1000.3],["2025-Q2",0.1],[null,5]]`},
		{"years", by("year"), `[["2024",null],["2025",1000.4],[null,5]]`},
		{"an average has two decimals", csvdb.Selection{Aggregates: []csvdb.Aggregate{{"avg", "spent"}}}, `[[251.35]]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			table, err := db.Select(t.Context(), tt.s)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(table.Rows); err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s\n%s", got, err, tt.want, table.SQL)
			}
		})
	}
	table, err := db.Select(t.Context(), by("month"))
	if columns, e := json.Marshal(table.Columns); err != nil || e != nil || string(columns) != `["start (month)",{"currency":"USD","name":"sum spent","type":"money"}]` {
		t.Errorf("the columns are %s, %v, %v", columns, err, e)
	}
}

// A sum of cents is exact, and a small number is not rounded to zero.
func TestFiguresAreRounded(t *testing.T) {
	t.Parallel()
	db := imported(t, "a,b,c\n0.1,0.00000012,1\n0.2,0.00000013,2\n0.30,0.00000014,2\n")
	table, err := db.Select(t.Context(), csvdb.Selection{Aggregates: []csvdb.Aggregate{{"sum", "a"}, {"avg", "b"}, {"avg", "c"}}})
	if got, e := json.Marshal(table.Rows); err != nil || e != nil || string(got) != `[[0.6,1.3e-7,1.67]]` || !table.Rounded {
		t.Errorf("got %s, %v, %v, rounded %v", got, err, e, table.Rounded)
	}
	// A sum is exact, and so is an average with few decimals.
	table, err = db.Select(t.Context(), csvdb.Selection{Aggregates: []csvdb.Aggregate{{"sum", "a"}, {"avg", "a"}}})
	if err != nil || table.Rounded || table.Rows[0][1] != 0.2 {
		t.Errorf("got %v, %v, rounded %v", table.Rows, err, table.Rounded)
	}
}

// Averages of small numbers, numbers with an exponent and averages of whole amounts keep their significant digits.
func TestFiguresKeepTheirDigits(t *testing.T) {
	t.Parallel()
	db := imported(t, "rate,mass,pay\n0.01,1.25e-4,\"$1,000\"\n0.015,3e-5,\"$1,000\"\n0.0125,,\"$2,001\"\n")
	table, err := db.Select(t.Context(), csvdb.Selection{Aggregates: []csvdb.Aggregate{{"avg", "rate"}, {"sum", "mass"}, {"avg", "pay"}, {"stddev", "rate"}, {"median", "mass"}}})
	if got, e := json.Marshal(table.Rows); err != nil || e != nil || string(got) != `[[0.0125,0.000155,1333.67,0.00204124,0.0000775]]` {
		t.Errorf("got %s, %v, %v", got, err, e)
	}
	db = imported(t, "units\n1\n0\n0\n0\n0\n0\n0\n0\n")
	if table, err = db.Select(t.Context(), csvdb.Selection{Aggregates: []csvdb.Aggregate{{"avg", "units"}}}); err != nil || table.Rows[0][0] != 0.125 {
		t.Errorf("got %v, %v", table.Rows, err)
	}
}

func TestSelectRefuses(t *testing.T) {
	t.Parallel()
	db := imported(t, sales)
	tests := []struct {
		s    csvdb.Selection
		want string
	}{
		{csvdb.Selection{Columns: []string{`id" FROM about --`}}, "there is no column"},
		{csvdb.Selection{OrderBy: "1; ATTACH 'x' AS y"}, "there is no column"},
		{csvdb.Selection{GroupBy: []string{"*"}}, "there is no column"},
		{csvdb.Selection{Where: []csvdb.Condition{{"amount", "eq", "ten", nil}}}, "is no number"},
		{csvdb.Selection{Where: []csvdb.Condition{{"amount", "OR 1=1", "1", nil}}}, "there is no op"},
		{csvdb.Selection{Where: []csvdb.Condition{{"amount", "between", "", []string{"1"}}}}, "between, two of them"},
		{csvdb.Selection{Aggregates: []csvdb.Aggregate{{"sum", "city"}}}, "a column of type text"},
		{csvdb.Selection{Where: []csvdb.Condition{{"day", "gt", "spring", nil}}}, "is no date"},
		{csvdb.Selection{Where: []csvdb.Condition{{"day", "in_period", "2024-13", nil}}}, "write a period as"},
		{csvdb.Selection{Where: []csvdb.Condition{{"city", "in_period", "2024", nil}}}, "is no column of dates"},
		{csvdb.Selection{GroupBy: []string{"city"}, Period: "month"}, "a column of dates"},
		{csvdb.Selection{GroupBy: []string{"day"}, Period: "decade"}, "there is no period"},
		{csvdb.Selection{Aggregates: []csvdb.Aggregate{{"load_extension", "id"}}}, "there is no function"},
	}
	for _, tt := range tests {
		if _, err := db.Select(t.Context(), tt.s); !errors.Is(err, csvdb.ErrQuestion) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.s, err, tt.want)
		}
	}
}

func TestRowsAndCellsAreCapped(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("n,text\n")
	for i := range 500 {
		fmt.Fprintf(&b, "%d,%s\n", i, strings.Repeat("ä", 1000))
	}
	db := imported(t, b.String())
	table, err := db.Select(t.Context(), csvdb.Selection{Limit: 100000})
	if err != nil || len(table.Rows) != csvdb.MaxRows || table.Matched != 500 {
		t.Fatalf("got %d of %d rows, %v, want %d of 500", len(table.Rows), table.Matched, err, csvdb.MaxRows)
	}
	if cell, _ := table.Rows[0][1].(string); len([]rune(cell)) != 301 {
		t.Errorf("a cell has %d characters", len([]rune(cell)))
	}
	if table, err = db.Select(t.Context(), csvdb.Selection{}); err != nil || len(table.Rows) != 20 {
		t.Errorf("without a limit there are %d rows, %v", len(table.Rows), err)
	}
}

func TestStatistics(t *testing.T) {
	t.Parallel()
	got, err := imported(t, sales).Statistics(t.Context(), []string{"amount", "city"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	want := `[{"column":"Amount","type":"real","count":5,"empty":0,"distinct":5,"min":3,"max":40,"mean":15.7,"median":10,"stddev":13.58`
	if err != nil || !strings.HasPrefix(string(text), want) || !strings.Contains(string(text), `"empty":1,"distinct":4,"min":"Athens","max":"athens","top":[[`) {
		t.Errorf("got %s, %v", text, err)
	}
}

// A search for yes finds true in a boolean column. A search for the words of the file works, too.
func TestTrueIsFoundAsYes(t *testing.T) {
	t.Parallel()
	db := imported(t, "n,paid\n1,true\n2,false\n3,TRUE\n")
	for text, rows := range map[string]int64{"true": 2, "yes": 2, "FALSE": 1} {
		found, err := db.Search(t.Context(), text, nil, 0)
		if err != nil || found.Matched != rows || len(found.In) != 1 || found.In[0].Equal != rows {
			t.Errorf("%s: %v, %v", text, found, err)
		}
		table, err := db.Select(t.Context(), csvdb.Selection{Where: []csvdb.Condition{{"paid", "contains", text, nil}}})
		if err != nil || table.Matched != rows {
			t.Errorf("contains %s: %v, %v", text, table, err)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	db := imported(t, "name,note,n\nAnn,knows bob,7\nBOB,,8\nCarl É,x,17\n")
	for text, want := range map[string]string{
		"bob":    `2 [{"column":"name","rows":1,"equal":1},{"column":"note","rows":1,"equal":0}]`,
		"7":      `2 [{"column":"n","rows":2,"equal":1}]`,
		"100%_'": `0 []`,
		"%":      `0 []`,
		"_":      `0 []`,
		"é":      `1 [{"column":"name","rows":1,"equal":0}]`,
	} {
		found, err := db.Search(t.Context(), text, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := json.Marshal(found.In)
		if got := fmt.Sprintf("%d %s", found.Matched, columns); err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := db.Search(t.Context(), " ", nil, 0); !errors.Is(err, csvdb.ErrQuestion) {
		t.Errorf("a search for nothing: %v", err)
	}
}

func TestOpenOfWhatIsNoDatabase(t *testing.T) {
	t.Parallel()
	if _, err := csvdb.Open(t.Context(), t.TempDir()+"/none.db"); err == nil {
		t.Error("there is no such file")
	}
}
