package offline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/llm"
)

// next returns the model's reply to a conversation: its calls, or its text.
func next(t testing.TB, messages ...llm.Message) string {
	t.Helper()
	m, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{Messages: messages})
	require.NoError(t, err)
	var calls []string
	for _, c := range m.ToolCalls {
		calls = append(calls, c.Name+string(c.Arguments))
	}
	return strings.Join(calls, " ") + m.Text()
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	define := func(q string) string { return `search{"limit":8,"query":"` + q + `"}` }
	where := func(q string) string { return `find_lines{"limit":10,"query":"` + q + `"}` }
	tests := []struct{ question, want string }{
		{"What is a checkpoint?", define("checkpoint")},
		{"Please, who is Ada Lovelace?", define("Ada Lovelace")},
		{"How do I run the tests?", define("run tests")},
		{"why is the sky not blue", define("sky not blue")},
		{"Where can I have a cigarette?", define("cigarette")},
		{"how often should I clean the filter?", define("often clean filter")},
		{"How often is the term extended?", define("often term extended")},
		{"how many looms are there?", define("looms")},
		{"how long does descaling take?", define("long descaling take")},
		{"I'm new, don't I need a loom?", define("new don't loom")},
		{"Is there a park before noon?", define("park before noon")},
		{"where is storage mentioned?", where("storage")},
		{"Where does “Put writes” appear?", where("Put writes")},
		{"how many words?", `count_words{}`},
		{"how many lines are there?", `count_words{}`},
		{"how often does the word storage appear?", `count_words{"word":"storage"}`},
		{"read lines 10-20", `read_lines{"from":10,"to":20}`},
		{"read line 7", `read_lines{"from":7}`},
		{"more", `read_lines{"from":1,"to":20}`},
		{"Summarise", `outline{} count_words{}`},
		{"summarize the file.", `outline{} count_words{}`},
		{"what is this file about?", `outline{} count_words{}`},
		{"What is in the file?", `outline{} count_words{}`},
		{"save a note that the sky is blue in the file", `save_note{"text":"the sky is blue in the file"}`},
		{"Please save a note: buy milk!", `save_note{"text":"buy milk"}`},
		{"save lines 3-5", `read_lines{"from":3,"to":5}`},
		{"save that", `There is nothing to save yet. Ask me something first, or say: save a note that ...`},
		{"where is it mentioned?", `What do you mean? Name a word that I can look for.`},
	}
	for _, tt := range tests {
		t.Run(tt.question, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, next(t, llm.User(tt.question)))
		})
	}
	for _, q := range []string{
		"hello", "thanks!", "what can you do?", "???", "help", "where?", "how often?", "read lines 10-99999999999999999999", "read it", "show me line 7",
		"What does line 7 say?", "what is the last line?", "summarise the licence section", "save lines 3-5 but not 4", "count storage in lines 3-9", "remember that it rains",
		"save your answer as a note", "how many words are there in the second chapter?",
	} {
		assert.Regexp(t, "^I am a set of rules", next(t, llm.User(q)), q)
	}
}

// turn returns the messages of an answered question: the question, the lookups and the answer.
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
		{defined, "where is it mentioned?", `find_lines{"limit":10,"query":"loom"}`},
		{defined, "save that", `save_note{"text":"A loom is a frame."}`},
		{defined, "and a shuttle?", `search{"limit":8,"query":"shuttle"}`},
		{defined, "and what does it hold?", `search{"limit":8,"query":"loom hold"}`},
		{defined, `what is "it support"?`, `search{"limit":8,"query":"support"}`},
		{counted, "what about shuttles?", `search{"limit":8,"query":"shuttles"}`},
		{read, "more", `read_lines{"from":5,"to":24}`},
		{noted, "how often does it appear?", `count_words{"word":"loom"}`},
		{noted, "save that", `save_note{"text":"A loom is a frame."}`},
	}
	for _, tt := range tests {
		t.Run(tt.question, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, next(t, append(append([]llm.Message{}, tt.past...), llm.User(tt.question))...))
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	lines := `{"total":2,"partly":0,"lines":[{"line":3,"text":"looms"},{"line":12,"text":"A loom is"}]}`
	passages := func(rest string) string {
		return `{"file":"a.md","passages":[{"from":12,"to":13,"heading":"Looms","text":"A loom is\na frame."},` +
			`{"from":9,"to":9,"heading":"Looms","text":"x"},{"from":3,"to":3,"heading":"Old","text":"y"},{"from":4,"to":5,"text":"z"}],` + rest + `}`
	}
	const (
		also   = "\n  see also line 3 (Old); lines 4-5"
		quoted = "A loom is\na frame.\n\n  a.md, lines 12-13 (Looms)"
		two    = quoted + "\n\nx\n\n  a.md, line 9 (Looms)"
	)
	tests := []struct {
		name, question string
		lookups        [][]llm.Message
		want           string
	}{
		{"quotes the best passage", "what is a loom?", [][]llm.Message{lookup("a", "search", passages(`"total":4`))}, quoted + also},
		{"does not count", "how many looms have a frame?", [][]llm.Message{lookup("a", "search", passages(`"total":1`))}, "Rules do not understand \"how many\": this has the other words of your question.\n\n" + quoted},
		{"names a missing word", "which loom frame is red?", [][]llm.Message{lookup("a", "search", passages(`"total":0,"missing":["red"]`))}, "The text does not mention \"red\". The closest passages:\n\n" + two},
		{"no passage has all", "what is a loom frame?", [][]llm.Message{lookup("a", "search", passages(`"total":0`))}, "No passage has \"loom\" and \"frame\" together. The closest passages:\n\n" + two},
		{"quotes code as code", "what is f?", [][]llm.Message{lookup("a", "search", `{"file":"a.go","total":1,"passages":[{"from":1,"to":2,"text":"f()\ng()","code":true}]}`)}, "    f()\n    g()\n\n  a.go, lines 1-2"},
		{"finds nothing", "what is a lom?", [][]llm.Message{lookup("a", "search", `{"file":"a.md","total":0,"passages":[],"missing":["lom"]}`)}, `I found no passage about that: a.md does not mention "lom".`},
		{"lists lines by number", "where is loom mentioned?", [][]llm.Message{lookup("a", "find_lines", lines)}, "\"loom\" is on 2 lines:\n     3 | looms\n    12 | A loom is"},
		{"shows the best sentences of an unsure answer", "who lends a loom?", [][]llm.Message{lookup("a", "search", `{"file":"a.md","missing":["lends"],"passages":[{"from":1,"to":9,"text":"A long text. Looms are here.","best":"Looms are here."}]}`)}, "The text does not mention \"lends\". The closest passage:\n\nLooms are here.\n\n  a.md, lines 1-9"},
		{"says that several passages have the one word", "when is a loom there?", [][]llm.Message{lookup("a", "search", passages(`"total":4`))}, "4 passages mention \"loom\". The closest passages:\n\n" + two},
		{"claims no line with some words", "where is the wooden loom mentioned?", [][]llm.Message{lookup("a", "find_lines", `{"total":0,"partly":2,"lines":[{"line":3,"text":"looms"}]}`)}, "No line has all words of \"wooden loom\"."},
		{"claims no measure", "how long is a loom?", [][]llm.Message{lookup("a", "search", passages(`"total":0,"missing":["long"]`))}, "The text does not mention \"long\". The closest passages:\n\n" + two},
		{"names words that it does not understand", "who has no loom?", [][]llm.Message{lookup("a", "search", passages(`"total":1`))}, "Rules do not understand \"who\" and \"no\": this has the other words of your question.\n\n" + quoted},
		{"names the word of a definition", "who is Ada Loom?", [][]llm.Message{lookup("a", "search", passages(`"total":1`))}, "Rules do not understand \"who\": this has the other words of your question.\n\n" + quoted},
		{"claims no phrase", "where is the wooden loom mentioned?", [][]llm.Message{lookup("a", "find_lines", lines)}, "All words of \"wooden loom\" are on 2 lines:\n     3 | looms\n    12 | A loom is"},
		{"shows a whole line", "where is loom mentioned?", [][]llm.Message{lookup("a", "find_lines", `{"total":1,"lines":[{"line":3,"text":"`+strings.Repeat("long ", 30)+`loom"}]}`)}, "\"loom\" is on 1 line:\n    3 | " + strings.Repeat("long ", 30) + "loom"},
		{"counts", "how many words?", [][]llm.Message{lookup("a", "count_words", `{"from":1,"to":9,"lines":9,"words":1234,"characters":1}`)}, "The file has 9 lines, 1,234 words and 1 character."},
		{"one occurrence", "how often does loom appear", [][]llm.Message{lookup("a", "count_words", `{"occurrences":1,"on_lines":[4]}`)}, `The file has "loom" 1 time as a whole word, on line 4.`},
		{"lines left out", "read lines 1-99", [][]llm.Message{lookup("a", "read_lines", `{"of":99,"lines":[{"line":1,"text":"x"}],"left":98}`)}, "Line 1 of 99:\n    1 | x\n98 lines more; say \"more\"."},
		{"saves what was read", "save lines 3-3", [][]llm.Message{lookup("a", "read_lines", `{"of":9,"lines":[{"line":3,"text":"x"}]}`)}, `save_note{"text":"3 | x"}`},
		{"was not allowed", "save a note that x", [][]llm.Message{lookup("a", "save_note", `{"saved":false}`)}, "You said no, so nothing was written."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			messages := []llm.Message{llm.User(tt.question)}
			for _, l := range tt.lookups {
				messages = append(messages, l...)
			}
			assert.Equal(t, tt.want, next(t, messages...))
		})
	}
	c := llm.ToolCall{ID: "a", Name: "read_lines", Arguments: []byte("{}")}
	got := next(t, llm.User("read line 99"), llm.Assistant("", c), llm.ToolError(c, "there is no line 99"))
	assert.Equal(t, "The tool read_lines says: there is no line 99.", got)
}

func TestLastTurnCallsNothing(t *testing.T) {
	t.Parallel()
	m, err := llm.Generate(t.Context(), offline.Model{}, llm.Request{
		Messages: []llm.Message{llm.User("what is a loom?")}, ToolChoice: llm.ToolChoice{Mode: llm.ToolsNone},
	})
	require.NoError(t, err)
	assert.Empty(t, m.ToolCalls)
	assert.NotEmpty(t, m.Text())
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := llm.Request{Messages: []llm.Message{llm.User("hello")}}
		words := 0
		for chunk, err := range (offline.Model{Pace: time.Second}).Stream(t.Context(), r) {
			require.NoError(t, err)
			if chunk.Kind == llm.ChunkText {
				words++
			}
		}
		assert.Equal(t, time.Duration(words)*time.Second, time.Since(start))
		assert.GreaterOrEqual(t, words, 20)
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second/60)
		defer cancel()
		_, err := llm.Generate(ctx, offline.Model{Pace: time.Second}, r)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
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
			require.NoError(t, err)
			assert.True(t, len(reply.ToolCalls) > 0 || reply.Text() != "", "an empty answer")
			messages = append(messages, llm.Assistant(fmt.Sprintf("answer %d", i)), llm.User(q))
		}
	})
}
