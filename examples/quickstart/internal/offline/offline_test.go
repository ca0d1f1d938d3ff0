package offline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/llm"
)

// next is what the model says to a conversation: its calls, or its text.
func next(t testing.TB, messages ...llm.Message) string {
	t.Helper()
	m, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: messages})
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	for _, c := range m.ToolCalls {
		calls = append(calls, c.Name+string(c.Arguments))
	}
	return strings.Join(calls, " ") + m.Text()
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	define := func(q string) string { return `search{"limit":5,"query":"` + q + `"}` }
	where := func(q string) string { return `search{"limit":10,"query":"` + q + `"}` }
	tests := []struct{ question, want string }{
		{"What is a checkpoint?", define("checkpoint")},
		{"what's a checkpoint", define("checkpoint")},
		{"whats checkpoint", define("checkpoint")},
		{"Please tell me what the durable thread is", define("durable thread")},
		{"who is Ada Lovelace?", define("Ada Lovelace")},
		{"What does 'time travel' mean?", define("time travel")},
		{"explain supersteps", define("supersteps")},
		{"what does the readme say about storage?", define("storage")},
		{"tell me more about storage", define("storage")},
		{"what about storage", define("storage")},
		{"How do I run the tests?", define("run tests")},
		{"how does a pause work?", define("pause")},
		{"why is the sky blue", define("sky blue")},
		{"summarise the licence section", define("licence section")},
		{"where is storage mentioned?", where("storage")},
		{"Where does “Put writes” appear in the file?", where("Put writes")},
		{"which lines mention storage", where("storage")},
		{"does the file mention storage?", where("storage")},
		{"is there anything about storage?", define("storage")},
		{"is storage mentioned?", where("storage")},
		{"find storage", where("storage")},
		{"search for all lines with storage", where("storage")},
		{"how many words?", `count_words{}`},
		{"how many lines are there in this file?", `count_words{}`},
		{"how long is the file", `count_words{}`},
		{"word count", `count_words{}`},
		{"count the words in lines 10 to 20", `count_words{"from":10,"to":20}`},
		{"how many words are in the first 10 lines", `count_words{"from":1,"to":10}`},
		{"how often does storage appear?", `count_words{"word":"storage"}`},
		{"How many times is the word storage used in lines 3-9?", `count_words{"from":3,"to":9,"word":"storage"}`},
		{"number of occurrences of storage", `count_words{"word":"storage"}`},
		{"count storage", `count_words{"word":"storage"}`},
		{"read lines 10-20", `read_lines{"from":10,"to":20}`},
		{"read lines 10-99999999999999999999", `read_lines{"from":10,"to":2147483647}`},
		{"show me line 7", `read_lines{"from":7}`},
		{"What does line 7 say?", `read_lines{"from":7}`},
		{"lines 10 to 20 please", `read_lines{"from":10,"to":20}`},
		{"first 3 lines", `read_lines{"from":1,"to":3}`},
		{"what is the last line?", `read_lines{"from":-1}`},
		{"read it", `read_lines{"from":1,"to":20}`},
		{"Summarise", `outline{} count_words{}`},
		{"summarize the file.", `outline{} count_words{}`},
		{"give me an overview", `outline{} count_words{}`},
		{"what is this file about?", `outline{} count_words{}`},
		{"what is in the file?", `outline{} count_words{}`},
		{"which headings does it have?", `outline{} count_words{}`},
		{"save a note that the sky is blue in the file", `save_note{"text":"the sky is blue in the file"}`},
		{"Please save a note: buy milk!", `save_note{"text":"buy milk"}`},
		{"remember that it rains", `save_note{"text":"it rains"}`},
		{"note that it rains", `save_note{"text":"it rains"}`},
		{"save lines 3-5", `read_lines{"from":3,"to":5}`},
		{"save that", `There is nothing to save yet. Ask me something first, or say: save a note that ...`},
		{"where?", `Where is what? Name a word that I can look for.`},
	}
	for _, tt := range tests {
		t.Run(tt.question, func(t *testing.T) {
			t.Parallel()
			if got := next(t, llm.User(tt.question)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	for _, q := range []string{"hello", "Thanks a lot!", "what can you do?", "???", "help"} {
		if got := next(t, llm.User(q)); !strings.HasPrefix(got, "I am a set of rules") {
			t.Errorf("%q: got %s", q, got)
		}
	}
}

// turn is a question that was answered, with the lookups before.
func turn(question, answer string, lookups ...llm.Message) []llm.Message {
	return append(append([]llm.Message{llm.User(question)}, lookups...), llm.Assistant(answer))
}

func lookup(id, tool, result string) []llm.Message {
	c := llm.ToolCall{ID: id, Name: tool, Arguments: []byte("{}")}
	return []llm.Message{llm.Assistant("", c), llm.ToolResult(c, result)}
}

func TestFollowUps(t *testing.T) {
	t.Parallel()
	defined := turn("what is a loom?", "A loom is a frame.")
	counted := turn("how often does loom appear?", "3 times.")
	read := turn("read lines 3-4", "Lines 3 to 4.", lookup("a", "read_lines", `{"of":90,"lines":[{"line":3},{"line":4}]}`)...)
	noted := append(append([]llm.Message{}, defined...), turn("save that", "Saved.")...)
	tests := []struct {
		past           []llm.Message
		question, want string
	}{
		{defined, "where is it mentioned?", `search{"limit":10,"query":"loom"}`},
		{defined, "where?", `search{"limit":10,"query":"loom"}`},
		{defined, "how often?", `count_words{"word":"loom"}`},
		{defined, "save that", `save_note{"text":"A loom is a frame."}`},
		{defined, "save your answer as a note", `save_note{"text":"A loom is a frame."}`},
		{defined, "save it to my notes", `save_note{"text":"A loom is a frame."}`},
		{defined, "and a shuttle?", `search{"limit":5,"query":"shuttle"}`},
		{counted, "what about shuttles?", `count_words{"word":"shuttles"}`},
		{read, "more", `read_lines{"from":5,"to":24}`},
		{read, "read on", `read_lines{"from":5,"to":24}`},
		{noted, "how often does it appear?", `count_words{"word":"loom"}`},
		{noted, "save that as a note", `save_note{"text":"A loom is a frame."}`},
	}
	for _, tt := range tests {
		t.Run(tt.question, func(t *testing.T) {
			t.Parallel()
			if got := next(t, append(append([]llm.Message{}, tt.past...), llm.User(tt.question))...); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	hit := `{"total":2,"partly":0,"lines":[{"line":12,"text":"A loom is"},{"line":3,"text":"looms"}]}`
	tests := []struct {
		name, question string
		lookups        [][]llm.Message
		want           string
	}{
		{"reads around the best line", "what is a loom?", [][]llm.Message{lookup("a", "search", hit)}, `read_lines{"from":8,"to":21}`},
		{
			"quotes the paragraph", "what is a loom?",
			[][]llm.Message{
				lookup("a", "search", hit),
				lookup("b", "read_lines", `{"of":20,"lines":[{"line":10,"text":"x"},{"line":11,"text":""},{"line":12,"text":"A loom is"},{"line":13,"text":"a frame."},{"line":14,"text":"- no"}]}`),
			},
			"The file says about \"loom\":\n  12 | A loom is\n  13 | a frame.\nSee also:\n  3 | looms",
		},
		{"finds nothing", "what is a lom?", [][]llm.Message{lookup("a", "search", `{"total":0,"lines":[],"missing":["lom"],"similar":["loom"]}`)}, `I found nothing about "lom" in the file. It does have: loom.`},
		{"lists lines by number", "where is loom?", [][]llm.Message{lookup("a", "search", hit)}, "\"loom\" is on 2 lines:\n   3 | looms\n  12 | A loom is"},
		{"counts", "how many words?", [][]llm.Message{lookup("a", "count_words", `{"from":1,"to":9,"lines":9,"words":1234,"characters":1}`)}, "The file has 9 lines, 1,234 words and 1 character."},
		{"one occurrence", "how often does loom appear", [][]llm.Message{lookup("a", "count_words", `{"occurrences":1,"on_lines":[4]}`)}, `The file has "loom" 1 time as a whole word, on line 4.`},
		{"lines left out", "read lines 1-99", [][]llm.Message{lookup("a", "read_lines", `{"of":99,"lines":[{"line":1,"text":"x"}],"left":98}`)}, "Line 1 of 99:\n  1 | x\n98 lines more; say \"more\"."},
		{"saves what was read", "save lines 3-3", [][]llm.Message{lookup("a", "read_lines", `{"of":9,"lines":[{"line":3,"text":"x"}]}`)}, `save_note{"text":"  3 | x"}`},
		{"was not allowed", "save a note that x", [][]llm.Message{lookup("a", "save_note", `{"saved":false}`)}, "You said no, so nothing was written."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			messages := []llm.Message{llm.User(tt.question)}
			for _, l := range tt.lookups {
				messages = append(messages, l...)
			}
			if got := next(t, messages...); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	c := llm.ToolCall{ID: "a", Name: "read_lines", Arguments: []byte("{}")}
	got := next(t, llm.User("read line 99"), llm.Assistant("", c), llm.ToolError(c, "there is no line 99"))
	if got != "The tool read_lines says: there is no line 99." {
		t.Errorf("got %s", got)
	}
}

func TestLastTurnCallsNothing(t *testing.T) {
	t.Parallel()
	m, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{
		Messages: []llm.Message{llm.User("what is a loom?")}, ToolChoice: llm.ToolChoice{Mode: llm.ToolsNone},
	})
	if err != nil || len(m.ToolCalls) != 0 || m.Text() == "" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := llm.Request{Messages: []llm.Message{llm.User("hello")}}
		words := 0
		for chunk, err := range (offline.Model{Pace: time.Second}).Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Kind == llm.ChunkText {
				words++
			}
		}
		if got := time.Since(start); got != time.Duration(words)*time.Second || words < 20 {
			t.Errorf("%d words took %s", words, got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second/60)
		defer cancel()
		_, err := llm.Generate(ctx, offline.Model{Pace: time.Second}, r)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzQuestions(f *testing.F) {
	for _, q := range []string{"what is a loom?", "save lines 3-99999999999999999999", "'", "and", "how often", "in the file", "İ?"} {
		f.Add(q, "where is it?")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		messages := []llm.Message{llm.User(first)}
		for i, q := range []string{second, first} {
			reply, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: messages})
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.ToolCalls) == 0 && reply.Text() == "" {
				t.Error("an empty answer")
			}
			messages = append(messages, llm.Assistant(fmt.Sprintf("answer %d", i)), llm.User(q))
		}
	})
}
