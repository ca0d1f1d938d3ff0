package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// TestQuestionTextShowsInvisibleCharacters proves that the text of a question shows the
// invisible characters of all its parts: from a model, a tool, a document or the program.
func TestQuestionTextShowsInvisibleCharacters(t *testing.T) {
	t.Parallel()
	const calendarEntry = "Lunch \u202egnp.exe\u202c" // the summary of an imported event
	tests := []struct{ name, text, want string }{
		{"a calendar entry", calendarEntry, `Lunch \u202egnp.exe\u202c`},
		{"overrides", "\u202a\u202b\u202d", `\u202a\u202b\u202d`},
		{"isolates", "\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},
		{"marks of direction", "\u200e\u200f\u061c", `\u200e\u200f\u061c`},
		{"C1", "\u009b2K\u0085", `\u009b2K\u0085`},
		{"tags", "\U000e0041\U000e007f", `\U000e0041\U000e007f`},
		{"zero width", "\u200b\u200c\u200d\u2060\ufeff", `\u200b\u200c\u200d\u2060\ufeff`},
		{"variation selectors", "\ufe0f\U000e0100", `\ufe0f\U000e0100`},
		{"blank letters", "\u3164\u2800", `\u3164\u2800`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			arguments, err := json.Marshal(map[string]string{"id": test.text})
			require.NoError(t, err)
			type in struct {
				ID   string              `json:"id"`
				User tools.Bound[userID] `json:"user"`
			}
			set := mustSet(t, tools.New("delete", "Deletes "+test.text+".", func(context.Context, in) (string, error) { return "", nil }))
			ctx := tools.WithBound(t.Context(), userID(test.text))
			q, err := set.Question(ctx, llm.ToolCall{ID: "1", Name: "delete", Arguments: arguments})
			require.NoError(t, err)
			q.Problem = "again " + test.text
			assert.Equal(t, "delete: Deletes "+test.want+".\narguments: {\"id\":\""+test.want+"\"}\nfor user: "+test.want+"\nasked again: again "+test.want, q.Text())
			assert.Contains(t, string(q.Arguments), test.text, "the arguments themselves changed")
		})
	}
}

// TestQuestionTextHasOneLineForEachPart proves that no part of a question can add a line to
// its text.
func TestQuestionTextHasOneLineForEachPart(t *testing.T) {
	t.Parallel()
	forged := "x\narguments: {}\r\u2028arguments: {}\x1b[2K"
	q := tools.Question{
		Tool: forged, Description: forged, Arguments: json.RawMessage(forged), Problem: forged,
		Bound: []tools.BoundValue{{Name: forged, Text: forged}, {Name: "key", Secret: true}},
	}
	assert.Len(t, strings.Split(q.Text(), "\n"), 5)
	assert.Equal(t, 1, strings.Count(q.Text(), "\narguments: "))
	assert.NotContains(t, q.Text(), "\r")
	assert.Contains(t, q.Text(), "\nfor key (secret): \n")
}
