package offline_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
	"github.com/weft-go/weft/llm"
)

const prompt = "You help.\n" +
	`{"resourceId":"r1","name":"sales.csv","rowCount":3,"columns":[{"name":"city","type":"text"},{"name":"unitPrice","type":"real"},{"name":"order_date","type":"date"}]}` + "\n" +
	`{"resourceId":"r2","name":"people.csv","rowCount":2,"columns":[{"name":"name","type":"text"},{"name":"age","type":"integer"}]}` + "\n" +
	`{"resourceId":"r3","name":"broken.csv"} (this file cannot be read)` + "\n"

func ask(t testing.TB, system, question string) llm.Message {
	t.Helper()
	reply, err := llm.Generate(context.Background(), offline.Model{}, llm.Request{Messages: []llm.Message{llm.System(system), llm.User(question)}})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestFirstCall(t *testing.T) {
	t.Parallel()
	tests := []struct{ question, tool, arguments string }{
		{"average age", "aggregateCsvData", `"resourceId":"r2"`},
		{"average unit price", "aggregateCsvData", `"resourceId":"r1"`},
		{"average unitPrice per city", "aggregateCsvData", `"groupBy":["city"]`},
		{"highest unit price where order date is before 2024-05-01", "filterCsvRows", `"op":"lt","value":"2024-05-01"`},
		{"rows with unit price at least 1,000", "filterCsvRows", `"op":"ge","value":"1000"`},
		{"people where age is not 7", "filterCsvRows", `"op":"ne","value":"7"`},
		{"how many people where the name is \"Ann Lee\"", "filterAndAggregateCsvData", `"op":"eq","value":"Ann Lee"`},
		{"lowest 3 sales by unit price", "loadCsvData", `"orderBy":"unitPrice","limit":3`},
		{"rows with no city", "filterCsvRows", `"op":"empty"`},
	}
	for _, tt := range tests {
		calls := ask(t, prompt, tt.question).ToolCalls
		if len(calls) != 1 || calls[0].Name != tt.tool || !strings.Contains(string(calls[0].Arguments), tt.arguments) {
			t.Errorf("%s\ngot  %v\nwant %s with %s", tt.question, calls, tt.tool, tt.arguments)
		}
	}
}

// The model answers even if the names of the file and its columns have no words, or the file has no columns.
func TestNamesWithoutWords(t *testing.T) {
	t.Parallel()
	for _, file := range []string{
		`{"resourceId":"r1","name":"!.csv","rowCount":1,"columns":[{"name":"?","type":"integer","unique":true},{"name":"id","type":"integer","unique":true}]}`,
		`{"resourceId":"r1","name":"","rowCount":1,"columns":[]}`,
		`{"resourceId":"r1","name":".csv","rowCount":1,"columns":[{"name":"","type":"date"},{"name":"_","type":"text","values":["","a"]}]}`,
	} {
		for _, question := range []string{"how many rows?", "total by month", "hello", "which has the most?", "describe the columns", "the highest", "", "?", "and", "top 3 by x"} {
			reply := ask(t, file, question)
			if reply.Text() == "" && len(reply.ToolCalls) == 0 {
				t.Errorf("%s of %s has no answer", question, file)
			}
		}
	}
}

func TestWithoutFiles(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]string{
		"You help.": "There is no CSV file in this session yet.",
		`{"resourceId":"r3","name":"broken.csv"} (this file cannot be read)`: "None of the files in this session can be read.",
	} {
		if got := ask(t, system, "how many rows?").Text(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// If a tool fails, the answer says why.
func TestFailedTool(t *testing.T) {
	t.Parallel()
	call := ask(t, prompt, "average age")
	messages := []llm.Message{llm.System(prompt), llm.User("average age"), call, llm.ToolError(call.ToolCalls[0], "timed out")}
	reply, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: messages})
	if err != nil || reply.Text() != "That did not work: timed out" {
		t.Errorf("got %v, %v", reply, err)
	}
}

// The model refuses a text of too many words or questions, also if a short question refers to the text.
func TestLongQuestionsAreRefused(t *testing.T) {
	t.Parallel()
	many := "how many rows" + strings.Repeat("? how many rows", 1733)
	for question, want := range map[string]string{
		many: "The question has 6,935 words, and I read at most 200. Ask for less at once.",
		"how many rows" + strings.Repeat("? how many rows", 10): "There are 11 questions in one, and I read at most 10. Ask for less at once.",
	} {
		m := ask(t, prompt, question)
		if !strings.HasPrefix(m.Text(), want) || len(m.ToolCalls) > 0 {
			t.Errorf("got %s, %v\nwant %s", m.Text(), m.ToolCalls, want)
		}
	}
	if n := len(ask(t, prompt, "how many rows"+strings.Repeat("? how many rows", 9)).ToolCalls); n == 0 {
		t.Error("ten questions are not read")
	}
	reply, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: []llm.Message{llm.System(prompt), llm.User(many), llm.Assistant("no"), llm.User("how many of them are there?")}})
	if err != nil || !strings.HasPrefix(reply.Text(), "I did not understand the question before") {
		t.Errorf("got %v, %v", reply.Text(), err)
	}
}

func TestImagesAreNotSeen(t *testing.T) {
	t.Parallel()
	m := llm.User("what is this?", llm.Image("image/png", []byte("png")))
	reply, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: []llm.Message{llm.System("You help."), m}})
	if err != nil || !strings.HasPrefix(reply.Text(), "I cannot see images") {
		t.Errorf("got %v, %v", reply, err)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		words := 0
		for _, err := range (offline.Model{Pace: time.Second}).Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.System("x"), llm.User("hi")}}) {
			if err != nil {
				t.Fatal(err)
			}
			words++
		}
		if took := time.Since(begin); took < time.Duration(words-1)*time.Second || words < 10 {
			t.Errorf("%d words took %v", words, took)
		}
	})
}

// Every question gets an answer, or a tool call whose arguments are valid JSON.
func FuzzQuestion(f *testing.F) {
	for _, s := range []string{"how many rows?", "top 99999999999999999999 by", "between 1 and", "unit price is", "city > >", "compare \"a\" and \"b\"", "is not empty", "é' \"", "not not is is"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, question string) {
		if strings.ToValidUTF8(question, "") != question || strings.ContainsRune(question, 0) || strings.TrimSpace(question) == "" {
			return
		}
		reply := ask(t, prompt, question)
		for _, c := range reply.ToolCalls {
			if !json.Valid(c.Arguments) {
				t.Errorf("the arguments are %s", c.Arguments)
			}
		}
		if reply.Text() == "" && len(reply.ToolCalls) == 0 {
			t.Error("there is neither an answer nor a call")
		}
	})
}
