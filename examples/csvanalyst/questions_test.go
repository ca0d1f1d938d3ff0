package main

import (
	"encoding/json"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
)

// The author of the questions had seen only the README.
const questions = "../../internal/proof/testdata/questions/"

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(questions + name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

func (a *app) withFileOf(name string) string {
	a.t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(a.t, err)
	return a.withFile(path.Base(name), string(data))
}

// refused has the questions that the rules do not answer, with the beginning of each refusal.
var refused = map[string]string{
	"csv-12":        `I did not understand "last", "our", "profit".`, // there is no profit in the file
	"csv-14":        `I did not understand "Summe", "nach".`,         // the rules know English only
	"csv-18":        `I did not understand "when".`,                  // no rule answers with another column of the row
	"csv-20":        `I understood the words, but not "and"`,         // there are two questions
	"csv-30":        `I did not understand "predict".`,               // no rule predicts
	"csvanalyst-07": `I did not understand "Vitra".`,                 // a value that the prompt does not list
	"csvanalyst-05": `I did not understand "cost".`,
	"csvanalyst-08": `I did not understand "me", "most", "tell".`, // there are two questions
	"csvanalyst-09": `I did not understand "designed".`,
	"csvanalyst-11": `I did not understand "did", "drop", "why".`,
	"csvanalyst-12": `I did not understand "filas", "hay", "¿Cuántas".`,
}

// figures finds the figure of each line of an answer, with the name of its group.
var figures = regexp.MustCompile(`(?m)^(?:- (.+?): |(?:There (?:are|is) |.*? is (?:about )?))[$€]?([\d,]+(?:\.\d+)?)`)

func figuresOf(t *testing.T, answer string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, m := range figures.FindAllStringSubmatch(answer, -1) {
		f, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", ""), 64)
		require.NoError(t, err, answer)
		out[m[1]] = f
	}
	return out
}

// The thirty questions about three untidy files have the answers that testdata/questions/csv/answers.py computes.
func TestQuestionsAboutUntidyFiles(t *testing.T) {
	t.Parallel()
	var all []struct {
		ID, File, Question string
		Answer             any
	}
	readJSON(t, "csv/questions.json", &all)
	require.Len(t, all, 30)
	a := start(t, t.TempDir(), offline.Model{})
	for _, q := range all {
		got := a.ask(a.withFileOf(questions+"csv/"+q.File), q.Question)
		if words, ok := refused[q.ID]; ok {
			assert.True(t, strings.HasPrefix(got, words), "%s: %s\n%s", q.ID, q.Question, got)
			continue
		}
		require.NotEqual(t, "refuse", q.Answer, "%s has no answer", q.ID)
		said := figuresOf(t, got)
		switch want := q.Answer.(type) {
		case float64:
			assert.Equal(t, map[string]float64{"": want}, said, "%s: %s\n%s", q.ID, q.Question, got)
		case map[string]any:
			for name, v := range want {
				if name == "" {
					name = "(no Region)"
				}
				assert.Equal(t, v, said[name], "%s: %s\n%s", q.ID, q.Question, got)
			}
			assert.NotContains(t, got, "more")
		case []any:
			for _, v := range flat(want) {
				assert.Contains(t, got, v, "%s: %s", q.ID, q.Question)
			}
		default:
			t.Errorf("%s has an answer of type %T", q.ID, want)
		}
	}
	// The order of groups and rows matters in these answers.
	assert.Regexp(t, `^Alder Ltd has the highest total Amount: \$116,672\.46\.`, a.ask(a.withFileOf(questions+"csv/orders.csv"), all[6].Question))
	assert.Regexp(t, `(?s)here are 3 .*A1183.*A1051.*A1144[^\n]*$`, a.ask(a.withFileOf(questions+"csv/orders.csv"), all[10].Question))
}

// flat returns the texts of an answer, with numbers as an answer writes them.
func flat(v any) []string {
	switch v := v.(type) {
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, flat(one)...)
		}
		return out
	case string:
		return []string{v}
	}
	return []string{separatedNumber(v)}
}

// separatedNumber writes a number with commas between thousands and all its decimals.
func separatedNumber(v any) string {
	f, _ := v.(float64)
	text := strconv.FormatFloat(f, 'f', -1, 64)
	whole, fraction, found := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if found {
		return whole + "." + fraction
	}
	return whole
}

// Each answer to a question about csvanalyst has the facts of the right answer.
func TestQuestionsOfFirstUsers(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"csvanalyst-01": {"There are 150 rows in products.csv."},
		"csvanalyst-02": {"There are 18 rows in products.csv where category is lamp."},
		"csvanalyst-03": {
			"The average price_eur by category", "chair: €1,049.51", "armchair: €4,164.40", "sofa: €9,828.57", "daybed: €10,400", "stool: €820",
			"table: €3,377.78", "desk: €4,445", "lamp: €1,289.17", "storage: €970", "shelf: €513.33", "bench: €990", "office chair: €1,690",
			"rocking chair: €690", "trolley: €2,150", "floor tile: €104.62", "slab: €192", "wall tile: €121.83", "flooring: €79.25",
		},
		"csvanalyst-04": {"The highest price_eur is €15,900", "P055", "PK80"},
		"csvanalyst-06": {"There are 37 rows in products.csv where category is chair and material is not leather."},
		"csvanalyst-10": {"The total amount is 50, in sales.csv where city is Athens."},
	}
	var all []struct{ ID, System, Conversation, Setup, Text string }
	readJSON(t, "questions.json", &all)
	a := start(t, t.TempDir(), offline.Model{})
	sessions, asked := map[string]string{}, 0
	for _, q := range all {
		if q.System != "csvanalyst" {
			continue
		}
		asked++
		if sessions[q.Conversation] == "" {
			name := "../designer/internal/catalogue/products.csv"
			if strings.Contains(q.Setup, "docs/sales.csv") {
				name = questions + "docs/sales.csv"
			}
			sessions[q.Conversation] = a.withFileOf(name)
		}
		got := a.ask(sessions[q.Conversation], q.Text)
		if words, ok := refused[q.ID]; ok {
			assert.True(t, strings.HasPrefix(got, words), "%s: %s\n%s", q.ID, q.Text, got)
			continue
		}
		require.Contains(t, want, q.ID)
		for _, fact := range want[q.ID] {
			assert.Contains(t, got, fact, "%s: %s", q.ID, q.Text)
		}
	}
	assert.Equal(t, 12, asked)
}
