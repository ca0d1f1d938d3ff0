package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

func TestLongValuesHaveALineForEachElement(t *testing.T) {
	t.Parallel()
	call := llm.Assistant("")
	call.ToolCalls = []llm.ToolCall{{ID: "c", Name: "search", Arguments: json.RawMessage(`{"q":"tea"}`)}}
	ours, err := json.Marshal([]llm.Message{llm.User("which tea\nis green?"), call, llm.Assistant(strings.Repeat("Sencha. ", 40))})
	require.NoError(t, err)
	long := strings.Repeat("x", 100)
	for _, tt := range []struct{ name, data, want string }{
		{"short", ` {"a": [1, 2]} `, `{"a":[1,2]}`},
		{"messages", string(ours), "[\n    user: which tea is green?\n    assistant: calls search\n    assistant: " + strings.Repeat("Sencha. ", 40)[:48] + "…\n  ]"},
		{"messages of a server", `[{"type":"human","content":"hi"},{"type":"ai","content":[{"type":"text"}],"id":"` + long + `"}]`, "[\n    human: hi\n    ai: [{\"type\":\"text\"}]\n  ]"},
		{"elements", `[{"type":"a"},"` + long + `"]`, "[\n    {\"type\":\"a\"}\n    \"" + strings.Repeat("x", 58) + "…\n  ]"},
		{"an object", `{"b":"` + long + `","a":1}`, "{\n    a: 1\n    b: \"" + strings.Repeat("x", 58) + "…\n  }"},
		{"a text", `"` + long + `"`, `"` + strings.Repeat("x", 58) + "…"},
		{"control characters", "\"a\u001b[31m\"", `"\"a\x1b[31m\""`},
		{"no JSON", "{", `"{"`},
	} {
		assert.Equal(t, tt.want, brief(json.RawMessage(tt.data), "  ", 60), tt.name)
	}
}

// A stored text cannot control the terminal of the person who reads it.
func TestAStoredTextHasNoControlCharacters(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	out := newTable(&b, "A", "B")
	out.row("x\x1b]0;title\x07\ty", "\u202egnp")
	out.flush()
	assert.Equal(t, "A              B\nx ]0;title  y   gnp\n", b.String())
}
