package csvdb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// imported imports a text and opens its database.
func imported(t testing.TB, text string) *csvdb.DB {
	t.Helper()
	db, err := tryImport(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func tryImport(t testing.TB, text string) (*csvdb.DB, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a b?%.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	schema, err := csvdb.Import(t.Context(), path, path+".db")
	left, globErr := filepath.Glob(filepath.Join(filepath.Dir(path), "*.half"))
	if globErr != nil || len(left) > 0 {
		t.Errorf("the import left %v, %v", left, globErr)
	}
	if err != nil {
		if _, err := os.Stat(path + ".db"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("there is a database of a file that was refused: %v", err)
		}
		return nil, err
	}
	db, err := csvdb.Open(t.Context(), path+".db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if !reflect.DeepEqual(schema, db.Schema) {
		t.Errorf("the schema is %+v, and then %+v", schema, db.Schema)
	}
	return db, nil
}

// all returns the columns with their types, and the rows, as JSON.
func all(t testing.TB, db *csvdb.DB) string {
	t.Helper()
	table, err := db.Select(context.Background(), csvdb.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range db.Schema.Columns {
		fmt.Fprintf(&b, "%s:%s ", c.Name, c.Type)
	}
	rows, err := json.Marshal(table.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + string(rows)
}

func utf16le(text string) string {
	out := []byte{}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}

func utf16be(text string) string {
	out := []byte{}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u>>8), byte(u))
	}
	return string(out)
}

func TestImport(t *testing.T) {
	t.Parallel()
	const plain = `city:text amount:integer [["Athens",1],["Bern",2]]`
	tests := []struct{ name, text, want, note string }{
		{"commas", "city,amount\nAthens,1\nBern,2\n", plain, ""},
		{"semicolons", "city;amount\nAthens;1\nBern;2\n", plain, ""},
		{"tabs", "city\tamount\nAthens\t1\nBern\t2\n", plain, ""},
		{"pipes", "city|amount\nAthens|1\nBern|2\n", plain, ""},
		{"a comma in semicolons", "city;note\nA, b;x, y\nC, d;z\n", `city:text note:text [["A, b","x, y"],["C, d","z"]]`, ""},
		{"CRLF, no last newline", "city,amount\r\nAthens,1\r\nBern,2", plain, ""},
		{"empty lines", "\ncity,amount\n\nAthens,1\n\nBern,2\n\n", plain, ""},
		{"a BOM", "\xef\xbb\xbfcity,amount\nAthens,1\nBern,2\n", plain, ""},
		{"UTF-16 with a BOM", "\xff\xfe" + utf16le("city,amount\nAthens,1\nBern,2\n"), plain, ""},
		{"UTF-16BE with a BOM", "\xfe\xff" + utf16be("city,amount\nAthens,1\nBern,2\n"), plain, ""},
		{"UTF-16 without a BOM", utf16le("city,amount\nAthens,1\nBern,2\n"), plain, ""},
		{"UTF-16BE without a BOM", utf16be("city,amount\nAthens,1\nBern,2\n"), plain, ""},
		{"Latin-1", "city,n\nZ\xfcrich,1\n", `city:text n:integer [["Zürich",1]]`, "Windows-1252"},
		{"Windows-1252", "city,n\nZ\xfcrich \x80,1\n", `city:text n:integer [["Zürich €",1]]`, "Windows-1252"},
		{"a broken byte in UTF-8", "city,n\nZürich\xff,1\nGenève,2\n", `city:text n:integer [["Zürich�",1],["Genève",2]]`, "1 bytes are no UTF-8"},
		{"quotes", "a,b\n\"x, \"\"y\"\"\",\"two\nlines\"\n", `a:text b:text [["x, \"y\"","two\nlines"]]`, ""},
		{"stray quotes", "a,b\n5\" pipe,2\n", `a:text b:integer [["5\" pipe",2]]`, "quotes stand"},
		{"short rows", "a,b,c\n1,2,3\n4\n5,6\n", `a:integer b:integer c:integer [[1,2,3],[4,null,null],[5,6,null]]`, "2 rows have fewer cells than the header (line 3, 4)"},
		{"long rows", "a,b\n1,2\n3,4,5\n6,7\n", `a:integer b:integer [[1,2],[3,4],[6,7]]`, "1 rows have more cells"},
		{"no header", "Ann,30\nBob,25\n", `column_1:text column_2:integer [["Ann",30],["Bob",25]]`, "the first row seems to be data"},
		{"years as columns", "country,2019,2020\nGreece,1,2\n", `country:text 2019:integer 2020:integer [["Greece",1,2]]`, ""},
		{"names", "a,A,, b  c \n1,2,3,4\n", `a:integer A_2:integer column_3:integer b c:integer [[1,2,3,4]]`, ""},
		{"a name in quotes", "\"a\"\"; DROP TABLE data; --\",b\n1,2\n", `a"; DROP TABLE data; --:integer b:integer [[1,2]]`, ""},
		{"one column", "name\nAnn\nBob\n", `name:text [["Ann"],["Bob"]]`, ""},
		{"only a header", "a,b\n", `a:text b:text []`, ""},
		{"empty cells", "a,b\n1,\n,x\nNA,N/A\n", `a:integer b:text [[1,null],[null,"x"],[null,"N/A"]]`, ""},
		{"real numbers", "a\n1\n2.5\n-1e3\n", `a:real [[1],[2.5],[-1000]]`, ""},
		{"zeros in front", "zip,n\n01234,1\n98765,2\n", `zip:text n:integer [["01234",1],["98765",2]]`, ""},
		{"long numbers", "card\n4111111111111111\n", `card:text [["4111111111111111"]]`, ""},
		{"thousands", "a\n\"1,234.5\"\n12\n", `a:real [[1234.5],[12]]`, "1,234.5"},
		{"money", "a,b\n$1,x\n$2.50,y\n", `a:real b:text [[1,"x"],[2.5,"y"]]`, ""},
		{"decimal commas", "a;b\n1.234,5;2\n0,5;3\n", `a:real b:integer [[1234.5,2],[0.5,3]]`, "1.234,5"},
		{"dates", "a,b,c\n2020-03-04,04.03.2020,2020/03/04\n", `a:date b:date c:date [["2020-03-04","2020-03-04","2020-03-04"]]`, ""},
		{"American dates", "a,b\n3/14/2020,x\n", `a:date b:text [["2020-03-14","x"]]`, "month, day, year"},
		{"other dates", "a,b\n14/3/2020,x\n", `a:date b:text [["2020-03-14","x"]]`, "day, month, year"},
		{"times", "a,b\n2020-03-04T05:06:07Z,2020-03-04 05:06\n", `a:time b:time [["2020-03-04 05:06:07","2020-03-04 05:06:00"]]`, ""},
		{"dates in several formats", "a\n2025-03-04\n04.03.2025\n4 Mar 2025\n\"March 4, 2025\"\n", `a:date [["2025-03-04"],["2025-03-04"],["2025-03-04"],["2025-03-04"]]`, ""},
		{"dates and times", "a,b\n2025-03-04 05:06,x\n04.03.2025,y\n", `a:time b:text [["2025-03-04 05:06:00","x"],["2025-03-04 00:00:00","y"]]`, "midnight"},
		{"yes and no", "a,b\nYes,1\nNO,2\ntrue,3\n,4\n", `a:boolean b:integer [["Yes",1],["NO",2],["true",3],[null,4]]`, ""},
		{"euros", "a,b\n\"€1,234.50\",x\n-€2,y\nn/a,z\n", `a:real b:text [[1234.5,"x"],[-2,"y"],[null,"z"]]`, "1,234.5"},
		{"several currencies", "a,b\n$1.50,x\n€2.50,y\n", `a:text b:text [["$1.50","x"],["€2.50","y"]]`, "several currencies"},
		{"spaces around a text", "a,b\n x ,1\n", `a:text b:integer [["x",1]]`, ""},
		{"no numbers after all", "a\n1\n2\nthree\n", `a:text [["1"],["2"],["three"]]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			db := imported(t, tt.text)
			if got := all(t, db); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			notes := strings.Join(db.Schema.Notes, "; ")
			if !strings.Contains(notes, tt.note) || tt.note == "" && tt.name != "money" && notes != "" {
				t.Errorf("the notes are %q, want %q", notes, tt.note)
			}
		})
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat("a,", 1500) + "a\n"
	tests := []struct{ name, text, want string }{
		{"nothing", "", "it is empty"},
		{"an encoding of nothing", "\xff\xfe\n\x00", "it has no rows"},
		{"spaces", " \n\t\n", "it is empty"},
		{"a workbook", "PK\x03\x04....", "Excel workbook"},
		{"a PDF", "%PDF-1.7", "PDF"},
		{"an image", "\x89PNG\r\n\x1a\n", "an image"},
		{"a page", "<!DOCTYPE html><html>", "a web page"},
		{"JSON", `{"a":1}`, "JSON"},
		{"zeros", "a,b\n1,\x002\n3,4\n5,6\n7,8\n", "bytes that no text has"},
		{"an open quote", "a,b\n1,\"x\n2,y\n", "the row of line 2 is never closed"},
		{"an open quote in much text", "a,b\n1,\"x" + strings.Repeat("2,y\n", 1<<20), "never closed"},
		{"too many columns", wide, "1501 columns"},
		{"a row of delimiters", "a,b\n1,2\n" + strings.Repeat(",", 1<<20-8) + "\n", "more than 10000 cells"},
		{"a row of delimiters after quotes out of place", "a,b\nx\"y,2\n" + strings.Repeat(",", 20_000) + "\n", "more than 10000 cells"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tryImport(t, tt.text)
			if !errors.Is(err, csvdb.ErrNotCSV) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// The schema has the values, the currency and the dates of a column, which a model needs to name them.
func TestColumnsAreDescribed(t *testing.T) {
	t.Parallel()
	db := imported(t, "order id,city,price_eur,paid,on,note\n2,Bern,1.25,\"$1,234.5\",2025-03-04,"+strings.Repeat("x", 50)+"\n1,Athens,2,$3,2024-12-31,y\n3,,,,,\n")
	got, err := json.Marshal(db.Schema.Columns)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"name":"order id","type":"integer","unique":true},{"name":"city","type":"text","empty":1,"values":["Athens","Bern"]},` +
		`{"name":"price_eur","type":"real","empty":1,"currency":"EUR","decimals":2},{"name":"paid","type":"real","empty":1,"currency":"USD","decimals":1},` +
		`{"name":"on","type":"date","empty":1,"from":"2024-12-31","to":"2025-03-04"},{"name":"note","type":"text","empty":1}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// However many columns a file has, the listed values have at most eight kilobytes: they are part of a prompt.
func TestListedValuesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for row := range 30 {
		for i := range 200 {
			if row == 0 {
				fmt.Fprintf(&b, "name%d,", i)
			} else {
				fmt.Fprintf(&b, "value %d of column %d,", row, i)
			}
		}
		b.WriteString("x\n")
	}
	listed := 0
	for _, c := range imported(t, b.String()).Schema.Columns {
		for _, v := range c.Values {
			listed += len(v)
		}
	}
	if listed == 0 || listed > 8<<10 {
		t.Errorf("%d bytes are listed", listed)
	}
}

// A quoted cell with many delimiters is one cell.
func TestDelimitersInQuotes(t *testing.T) {
	t.Parallel()
	db := imported(t, "a,b\n1,\""+strings.Repeat("x,", 50_000)+"\"\n2,y\n")
	if db.Schema.RowCount != 2 || len(db.Schema.Columns) != 2 {
		t.Errorf("got %+v", db.Schema)
	}
}

func TestImportStopsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, bytes.Repeat([]byte("1,2,3\n"), 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := csvdb.Import(ctx, path, path+".db"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}

func FuzzImport(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "a;b\n\"x\";2\n", "\xff\xfea\x00,\x00", "\"", "a\tb\n1\t\"2\n", "1.5,2020-01-01\n3,x", "\xef\xbb\xbf\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "f.csv")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		schema, err := csvdb.Import(t.Context(), path, path+".db")
		if err != nil {
			if !errors.Is(err, csvdb.ErrNotCSV) {
				t.Fatalf("an error that is not the file's: %v", err)
			}
			return
		}
		db, err := csvdb.Open(t.Context(), path+".db")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		table, err := db.Select(t.Context(), csvdb.Selection{Aggregates: []csvdb.Aggregate{{Function: "count"}}})
		if err != nil || table.Rows[0][0] != schema.RowCount {
			t.Fatalf("the table has %v rows, %v, want %d", table.Rows, err, schema.RowCount)
		}
		if _, err := db.Statistics(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	})
}
