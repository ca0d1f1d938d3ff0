package csvtools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/examples/csvanalyst/internal/csvtools"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// box returns the tools over files of the session "s", and a context of it.
func box(t *testing.T, content map[string]string) (*tools.Set, context.Context) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range content {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := csvdb.Import(t.Context(), path, path+".db"); err != nil {
			t.Fatal(err)
		}
	}
	set, err := csvtools.New(func(ctx context.Context, session, file string) (*csvdb.DB, error) {
		if _, ok := content[file]; !ok || session != "s" {
			return nil, errors.New("no such file")
		}
		return csvdb.Open(ctx, filepath.Join(folder, file+".db"))
	})
	if err != nil {
		t.Fatal(err)
	}
	return set, tools.WithBound(t.Context(), csvtools.SessionID("s"))
}

func call(ctx context.Context, t *testing.T, set *tools.Set, name, arguments string) llm.Message {
	t.Helper()
	m, err := set.Call(ctx, llm.ToolCall{ID: "c", Name: name, Arguments: json.RawMessage(arguments)}, tools.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	sales = "city,amount\nAthens,1\nBern,2\nAthens,4\n"
	older = "city,amount\nAthens,10\nChur,3\n"
)

func TestSevenTools(t *testing.T) {
	t.Parallel()
	set, ctx := box(t, map[string]string{"new.csv": sales, "old.csv": older})
	names := []string{}
	for _, s := range set.Specs() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	want := []string{"aggregateCsvData", "compareCsvData", "filterAndAggregateCsvData", "filterCsvRows", "getCsvStatistics", "loadCsvData", "searchCsvText"}
	if !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
	tests := []struct{ tool, arguments, want string }{
		{"loadCsvData", `{"resourceId":"new.csv","limit":1}`, `{"columns":["city","amount"],"rows":[["Athens",1]],"matched":3,"sql":"SELECT * FROM data LIMIT 1","truncated":true}`},
		{"loadCsvData", `{"resourceId":"new.csv","columns":["amount"],"offset":2}`, `{"columns":["amount"],"rows":[[4]],"matched":3,"sql":"SELECT \"amount\" FROM data LIMIT 20 OFFSET 2"}`},
		{"filterCsvRows", `{"resourceId":"new.csv","conditions":[{"column":"amount","op":"gt","value":"1"}]}`, `{"columns":["city","amount"],"rows":[["Bern",2],["Athens",4]],"matched":2,`},
		{"filterCsvRows", `{"resourceId":"new.csv","match":"any","conditions":[{"column":"amount","op":"eq","value":"1"},{"column":"city","op":"eq","value":"bern"}]}`, `{"columns":["city","amount"],"rows":[["Athens",1],["Bern",2]],`},
		{"aggregateCsvData", `{"resourceId":"new.csv","groupBy":["city"],"aggregates":[{"function":"sum","column":"amount"}],"orderBy":"sum amount","descending":true}`, `{"columns":["city","sum amount"],"rows":[["Athens",5],["Bern",2]],"matched":2,`},
		{"filterAndAggregateCsvData", `{"resourceId":"new.csv","conditions":[{"column":"city","op":"eq","value":"Athens"}],"aggregates":[{"function":"avg","column":"amount"}]}`, `{"columns":["avg amount"],"rows":[[2.5]],"matched":1,`},
		{"getCsvStatistics", `{"resourceId":"new.csv","columns":["amount"]}`, `{"rowCount":3,"columns":[{"column":"amount","type":"integer","count":3,"empty":0,"distinct":3,"min":1,"max":4,`},
		{"searchCsvText", `{"resourceId":"new.csv","text":"ATH"}`, `{"in":[{"column":"city","rows":2,"equal":0}],"columns":["city","amount"],"rows":[["Athens",1],["Athens",4]],"matched":2,`},
		{"compareCsvData", `{"left":{"resourceId":"old.csv"},"right":{"resourceId":"new.csv"},"groupBy":"city","aggregate":{"function":"sum","column":"amount"}}`, `{"figure":"sum amount","rows":[{"group":"Athens","left":10,"right":5,"difference":-5,"percent":-50},{"group":"Chur","left":3,"right":null},{"group":"Bern","left":null,"right":2}],`},
		{"compareCsvData", `{"left":{"resourceId":"new.csv","conditions":[{"column":"city","op":"eq","value":"Bern"}]},"right":{"resourceId":"new.csv"},"aggregate":{"function":"count"}}`, `{"figure":"count","rows":[{"left":1,"right":3,"difference":2,"percent":200}],`},
	}
	for _, tt := range tests {
		if m := call(ctx, t, set, tt.tool, tt.arguments); m.Status == llm.StatusError || !json.Valid([]byte(m.Text())) || !strings.HasPrefix(m.Text(), tt.want) {
			t.Errorf("%s %s\ngot  %s\nwant %s", tt.tool, tt.arguments, m.Text(), tt.want)
		}
	}
}

func TestToolsRefuseWrongArguments(t *testing.T) {
	t.Parallel()
	set, ctx := box(t, map[string]string{"new.csv": sales})
	tests := []struct{ tool, arguments, want string }{
		{"loadCsvData", `{}`, "resourceId: is missing"},
		{"loadCsvData", `{"resourceId":"new.csv","limit":"all"}`, "limit: want an integer"},
		{"loadCsvData", `{"resourceId":"new.csv","Session":"s2"}`, "Session"},
		{"loadCsvData", `{"resourceId":"none.csv"}`, "no such file"},
		{"loadCsvData", `{"resourceId":"new.csv","columns":["town"]}`, `there is no column "town"`},
		{"filterCsvRows", `{"resourceId":"new.csv"}`, "conditions: is missing"},
		{"filterCsvRows", `{"resourceId":"new.csv","conditions":[{"column":"city","op":"like","value":"x"}]}`, "op"},
		{"aggregateCsvData", `{"resourceId":"new.csv","aggregates":[{"function":"sum","column":"city"}]}`, "a column of type text"},
		{"filterAndAggregateCsvData", `{"resourceId":"new.csv","aggregates":[]}`, "conditions: is missing"},
		{"getCsvStatistics", `{"resourceId":7}`, "resourceId: want a string"},
		{"searchCsvText", `{"resourceId":"new.csv"}`, "text: is missing"},
		{"compareCsvData", `{"left":{"resourceId":"new.csv"}}`, "right: is missing"},
	}
	for _, tt := range tests {
		if m := call(ctx, t, set, tt.tool, tt.arguments); m.Status != llm.StatusError || !strings.Contains(m.Text(), tt.want) {
			t.Errorf("%s %s: got %s, want %q", tt.tool, tt.arguments, m.Text(), tt.want)
		}
	}
}

// The tool compares no amounts of two currencies, but it compares counts of them.
func TestCompareRefusesTwoCurrencies(t *testing.T) {
	t.Parallel()
	set, ctx := box(t, map[string]string{"us.csv": "city,pay\nBern,$5\n", "eu.csv": "city,pay\nBern,€4\n"})
	for _, group := range []string{"", `"groupBy":"city",`} {
		m := call(ctx, t, set, "compareCsvData", `{"left":{"resourceId":"us.csv"},"right":{"resourceId":"eu.csv"},`+group+`"aggregate":{"function":"sum","column":"pay"}}`)
		if m.Status != llm.StatusError || !strings.Contains(m.Text(), "the left side are in USD and those of the right side in EUR") {
			t.Errorf("got %s", m.Text())
		}
	}
	m := call(ctx, t, set, "compareCsvData", `{"left":{"resourceId":"us.csv"},"right":{"resourceId":"eu.csv"},"aggregate":{"function":"count","column":"pay"}}`)
	if m.Status == llm.StatusError || !strings.Contains(m.Text(), `"difference":0`) {
		t.Errorf("got %s", m.Text())
	}
}

// A result has at most a hundred rows, even if the file has more and the limit is higher.
func TestRowCap(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("n,m\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "%d,x%d\n", i, i)
	}
	set, ctx := box(t, map[string]string{"new.csv": b.String()})
	for tool, arguments := range map[string]string{
		"loadCsvData":               `{"resourceId":"new.csv","limit":100000}`,
		"filterCsvRows":             `{"resourceId":"new.csv","limit":100000,"conditions":[{"column":"n","op":"ge","value":"0"}]}`,
		"aggregateCsvData":          `{"resourceId":"new.csv","limit":100000,"groupBy":["n"],"aggregates":[{"function":"count"}]}`,
		"filterAndAggregateCsvData": `{"resourceId":"new.csv","limit":100000,"groupBy":["n"],"aggregates":[{"function":"count"}],"conditions":[{"column":"n","op":"ge","value":"0"}]}`,
		"searchCsvText":             `{"resourceId":"new.csv","limit":100000,"text":"x"}`,
	} {
		var got struct {
			Rows    []any `json:"rows"`
			Matched int   `json:"matched"`
		}
		if err := json.Unmarshal([]byte(call(ctx, t, set, tool, arguments).Text()), &got); err != nil || len(got.Rows) != csvdb.MaxRows || got.Matched != 1000 {
			t.Errorf("%s: %d rows of %d, %v", tool, len(got.Rows), got.Matched, err)
		}
	}
	var compared struct {
		Groups    []any `json:"rows"`
		Truncated bool  `json:"truncated"`
	}
	text := call(ctx, t, set, "compareCsvData", `{"left":{"resourceId":"new.csv"},"right":{"resourceId":"new.csv"},"groupBy":"n","aggregate":{"function":"count"}}`).Text()
	if err := json.Unmarshal([]byte(text), &compared); err != nil || len(compared.Groups) != csvdb.MaxRows || !compared.Truncated {
		t.Errorf("%d groups, truncated %t, %v", len(compared.Groups), compared.Truncated, err)
	}
}
