package tools_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// conversation parses a short form: "u" is a message of the user, "s" of the system, "a12"
// of the assistant with calls 1 and 2. "r1" is the result of call 1, and "e1" is its error.
func conversation(text string) []llm.Message {
	var out []llm.Message
	for entry := range strings.FieldsSeq(text) {
		var calls []llm.ToolCall
		for _, id := range strings.Split(entry[1:], "") {
			if id != "" {
				calls = append(calls, llm.ToolCall{ID: id, Name: "f"})
			}
		}
		switch entry[0] {
		case 'u':
			out = append(out, llm.User("hi"))
		case 's':
			out = append(out, llm.System("be brief"))
		case 'a':
			out = append(out, llm.Assistant("", calls...))
		case 'r':
			out = append(out, llm.ToolResult(calls[0], "ok"))
		case 'e':
			out = append(out, llm.ToolError(calls[0], tools.NotCalled))
		}
	}
	return out
}

func TestRepair(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, given, want string }{
		{"nothing", "", ""},
		{"whole", "s u a12 r1 r2 a u a1 r1 a", "s u a12 r1 r2 a u a1 r1 a"},
		{"cancelled", "u a12", "u a12 e1 e2"},
		{"cancelled half-way", "u a12 r2", "u a12 e1 r2"},
		{"the user went on", "u a1 u", "u a1 e1 u"},
		{"answered after the user went on", "u a12 u r1 a", "u a12 r1 e2 u a"},
		{"out of order", "u a123 r3 r1 r2 a", "u a123 r1 r2 r3 a"},
		{"an orphan", "r9 u a1 r1 r8 a", "u a1 r1 a"},
		{"an answer before its call", "u r1 a1", "u a1 e1"},
		{"twice answered", "u a1 r1 r1 a", "u a1 r1 a"},
		{"ids used again", "u a1 r1 a1 r1 a1", "u a1 r1 a1 r1 a1 e1"},
		{"pruned to its answers", "r1 r2 a u", "a u"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			given := conversation(test.given)
			before := slices.Clone(given)
			got := tools.Repair(given)
			assert.Equal(t, conversation(test.want), got)
			assert.Equal(t, before, given, "what was given has changed")
			assert.Equal(t, got, tools.Repair(got))
		})
	}
}

// TestRepairOfAnything proves for random conversations that every call has one answer at
// the right place, and that no other message is lost.
func TestRepairOfAnything(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var entries []string
		for range r.IntN(12) {
			entries = append(entries, []string{"u", "s", "a", "a1", "a12", "a123", "r1", "r2", "r3"}[r.IntN(9)])
		}
		text := strings.Join(entries, " ")
		got := tools.Repair(conversation(text))
		var due []string
		said := 0
		for _, m := range got {
			if m.Role == llm.RoleTool {
				require.NotEmpty(t, due, "%s: an answer at the wrong place", text)
				require.Equal(t, m.ToolCallID, due[0], "%s: an answer at the wrong place", text)
				due = due[1:]
				continue
			}
			said++
			require.Empty(t, due, "%s: calls without an answer", text)
			for _, call := range m.ToolCalls {
				due = append(due, call.ID)
			}
		}
		require.Empty(t, due, text)
		require.Equal(t, len(slices.DeleteFunc(entries, func(e string) bool { return e[0] == 'r' })), said, text)
	}
}
