// Package questiontest reads the questions of ../testdata/questions for the tests of the examples.
package questiontest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A Question is a question of a user to an example. The README of the questions describes the fields.
type Question struct {
	ID, System, Conversation, Setup, Text string
	FirstTry                              bool
}

// A Judgement describes the right answer to a question.
type Judgement struct {
	// The answer has all texts of Right and none of Wrong.
	Right, Wrong []string
	// Refused says that the example must refuse to answer.
	Refused bool
}

// Of returns the questions to an example in their order. The test fails unless each question has a judgement, and each
// judgement a question.
func Of(tb testing.TB, system string, judged map[string]Judgement) []Question {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(Folder(tb), "questions.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []Question
	if err := json.Unmarshal(data, &all); err != nil {
		tb.Fatalf("questions.json: %v", err)
	}
	all = slices.DeleteFunc(all, func(q Question) bool { return q.System != system })
	for _, q := range all {
		if _, ok := judged[q.ID]; !ok {
			tb.Errorf("the test has no judgement of %s: %s", q.ID, q.Text)
		}
	}
	if len(all) == 0 || len(all) != len(judged) {
		tb.Errorf("there are %d questions to %s, and %d judgements", len(all), system, len(judged))
	}
	return all
}

// Check compares an answer with the judgement. Refused says whether the example has refused to answer.
func (j Judgement) Check(tb testing.TB, q Question, answer string, refused bool) {
	tb.Helper()
	tb.Logf("%s refused=%t %q\n%s", q.ID, refused, q.Text, answer)
	for _, text := range j.Right {
		if !strings.Contains(answer, text) {
			tb.Errorf("%s: %q: the answer lacks %q", q.ID, q.Text, text)
		}
	}
	for _, text := range j.Wrong {
		if strings.Contains(answer, text) {
			tb.Errorf("%s: %q: the answer has %q", q.ID, q.Text, text)
		}
	}
	if refused != j.Refused {
		tb.Errorf("%s: %q: refused is %t, want %t", q.ID, q.Text, refused, j.Refused)
	}
}

// Folder returns the path of the questions and their documents, from a test in any folder of the module.
func Folder(tb testing.TB) string {
	tb.Helper()
	folder, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for at := folder; ; at = filepath.Dir(at) {
		found := filepath.Join(at, "internal", "proof", "testdata", "questions")
		if _, err := os.Stat(found); err == nil {
			return found
		}
		if at == filepath.Dir(at) {
			tb.Fatalf("no folder above %s has internal/proof/testdata/questions", folder)
		}
	}
}
