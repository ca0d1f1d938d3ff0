package llm_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// conversation returns messages that use every field of a message.
func conversation() []llm.Message {
	call := llm.ToolCall{ID: "call_1", Name: "weather", Arguments: json.RawMessage(`{"city":"Zürich","days":9007199254740993}`)}
	question := llm.User("What is this? <b>&</b>",
		llm.Part{Type: llm.PartImage, MIMEType: "image/png", Data: []byte{0x89, 'P', 'N', 'G'}},
		llm.Part{Type: llm.PartImage, URL: "https://example.com/a.png"},
		llm.Part{Type: llm.PartFile, Name: "a.pdf", MIMEType: "application/pdf", Data: []byte("%PDF")})
	question.ID, question.Name = "m2", "ann"
	turn := llm.Assistant("Let me look.", call, llm.ToolCall{ID: "call_2", Name: "now"})
	turn.ID = "m3"
	turn.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: "They want the weather."}}, turn.Parts...)
	turn.StopReason = llm.StopToolCalls
	turn.Usage = &llm.Usage{Input: 120, Output: 24, Total: 144, Cached: 100, CacheWrite: 4, Reasoning: 8}
	turn.Metadata = map[string]json.RawMessage{"model": json.RawMessage(`"m-1"`), "raw": json.RawMessage(`{"b":1,"a":null}`)}
	result := llm.ToolResult(call, `{"sky":"clear"}`)
	result.ID = "m4"
	failure := llm.ToolError(llm.ToolCall{ID: "call_2", Name: "now"}, "no clock ☀\u0000")
	failure.ID = "m5"
	signed := llm.Assistant("",
		llm.ToolCall{ID: "call_3", Name: "f", Arguments: json.RawMessage(`{}`), Signature: "c2ln", Metadata: map[string]json.RawMessage{"k": json.RawMessage("1")}},
		llm.InvalidCall("call_4", "f", `{"a": `, "unexpected end"))
	signed.ID = "m6"
	signed.Parts = []llm.Part{
		{Type: llm.PartReasoning, Signature: "c2ln"},
		{Type: llm.PartText, Text: "so", Metadata: map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}},
	}
	odd := llm.User("", llm.Part{Type: llm.PartImage, URL: "https://example.com/b.png", Detail: "low"},
		llm.Part{Type: llm.PartOther, Metadata: map[string]json.RawMessage{"type": json.RawMessage(`"video"`)}})
	return []llm.Message{llm.System("Be brief."), question, turn, result, failure, llm.Assistant(""), signed, odd}
}

func TestMessageJSONIsGolden(t *testing.T) {
	t.Parallel()
	const golden = "testdata/messages.jsonl"
	messages := conversation()
	got := marshal(t, messages)
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	var back []llm.Message
	for line := range bytes.Lines(want) {
		var m llm.Message
		require.NoError(t, json.Unmarshal(line, &m))
		back = append(back, m)
	}
	assert.Equal(t, messages, back)
	assert.Equal(t, want, marshal(t, back))
}

// marshal encodes messages as JSON, one per line.
func marshal(t *testing.T, messages []llm.Message) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, m := range messages {
		require.NoError(t, enc.Encode(m))
	}
	return b.Bytes()
}

func TestMessageValidate(t *testing.T) {
	t.Parallel()
	call := llm.ToolCall{ID: "1", Name: "f"}
	with := func(m llm.Message, change func(*llm.Message)) llm.Message {
		change(&m)
		return m
	}
	tests := []struct {
		name string
		give llm.Message
		want string // part of the error; empty for none
	}{
		{"zero", llm.Message{}, "no role"},
		{"unknown role", llm.Message{Role: "function"}, `unknown role "function"`},
		{"unknown status", with(llm.ToolResult(call, ""), func(m *llm.Message) { m.Status = "ok" }), `unknown status "ok"`},
		{"empty texts", llm.User(""), ""},
		{"tool without call id", llm.Message{Role: llm.RoleTool}, "without the id of its call"},
		{"answer of a user", with(llm.User("a"), func(m *llm.Message) { m.ToolCallID = "1" }), "cannot answer"},
		{"status of a user", with(llm.User("a"), func(m *llm.Message) { m.Status = llm.StatusError }), "cannot have a status"},
		{"calls of a user", with(llm.User("a"), func(m *llm.Message) { m.ToolCalls = []llm.ToolCall{call} }), "cannot call tools"},
		{"part without type", llm.User("", llm.Part{Text: "a"}), "part 0: no type"},
		{"unknown part", llm.User("a", llm.Part{Type: "video"}), `part 1: unknown type "video"`},
		{"text with data", llm.User("", llm.Part{Type: llm.PartText, Data: []byte("a")}), "cannot have data"},
		{"image with text", llm.User("", llm.Part{Type: llm.PartImage, Text: "a", URL: "u"}), "cannot have text"},
		{"image of nothing", llm.User("", llm.Part{Type: llm.PartImage}), "needs data or a URL"},
		{"image of both", llm.User("", llm.Part{Type: llm.PartImage, URL: "u", Data: []byte("a")}), "needs data or a URL"},
		{"image of no MIME type", llm.User("", llm.Part{Type: llm.PartImage, Data: []byte("a")}), "without a MIME type"},
		{"call without id", llm.Assistant("", llm.ToolCall{Name: "f"}), "tool call 0: no id"},
		{"call without name", llm.Assistant("", llm.ToolCall{ID: "1"}), "tool call 0: no name"},
		{"call without arguments", llm.Assistant("", call), ""},
		{"broken arguments", llm.Assistant("", llm.ToolCall{ID: "1", Name: "f", Arguments: json.RawMessage(`{"a":`)}), `the arguments of "f" are not JSON`},
		{"arguments not UTF-8", llm.Assistant("", llm.ToolCall{ID: "1", Name: "f", Arguments: json.RawMessage("\"\xff\"")}), "are not JSON"},
		{"two calls of one id", llm.Assistant("", call, call), `id "1" is used twice`},
		{"text not UTF-8", llm.User("", llm.Part{Type: llm.PartText, Text: "\xff"}), "text is not UTF-8"},
		{"id not UTF-8", with(llm.User("a"), func(m *llm.Message) { m.ID = "\xff" }), "id is not UTF-8"},
		{"an image with text", llm.User("", llm.Part{Type: llm.PartImage, URL: "u", Text: "a"}), "cannot have text"},
		{"a signed image", llm.User("", llm.Part{Type: llm.PartImage, URL: "u", Signature: "s"}), ""},
		{"text of no type", llm.User("", llm.Part{Type: llm.PartOther, Text: "a"}), "type other cannot have text"},
		{"broken metadata of a part", llm.User("", llm.Part{Type: llm.PartOther, Metadata: map[string]json.RawMessage{"k": nil}}), `part 0: metadata "k"`},
		{"broken metadata of a call", llm.Assistant("", llm.ToolCall{ID: "1", Name: "f", Metadata: map[string]json.RawMessage{"k": nil}}), `tool call 0: metadata "k"`},
		{"an invalid call", llm.Assistant("", llm.InvalidCall("1", "f", "{\xff", "broken")), ""},
		{"an invalid call with arguments", llm.Assistant("", llm.ToolCall{ID: "1", Name: "f", Arguments: json.RawMessage(`{}`), Invalid: "broken"}), "are not a JSON string"},
		{"broken metadata", with(llm.User("a"), func(m *llm.Message) { m.Metadata = map[string]json.RawMessage{"k": nil} }), `metadata "k"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkInvalid(t, test.give.Validate(), test.want)
		})
	}
	for i, m := range conversation() {
		assert.NoError(t, m.Validate(), "message %d", i)
	}
}

// checkInvalid fails the test unless err wraps ErrInvalid and contains want. If want is empty, err
// must be nil.
func checkInvalid(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		assert.NoError(t, err)
		return
	}
	assert.ErrorIs(t, err, llm.ErrInvalid)
	assert.ErrorContains(t, err, want)
}

func TestTextReplacesWhatIsNotUTF8(t *testing.T) {
	t.Parallel()
	m := llm.ToolResult(llm.ToolCall{ID: "1", Name: "read"}, "a\xffb")
	assert.Equal(t, "a\ufffdb", m.Text())
	assert.NoError(t, m.Validate())
}

func TestToolCallText(t *testing.T) {
	t.Parallel()
	for want, call := range map[string]llm.ToolCall{
		"{}":      {},
		`{"a":1}`: {Arguments: json.RawMessage(`{"a":1}`)},
		`{"a":`:   llm.InvalidCall("1", "f", `{"a":`, "broken"),
		"5":       {Arguments: json.RawMessage("5"), Invalid: "not a string"},
	} {
		assert.Equal(t, want, call.Text())
	}
}

func TestMessageTextLeavesReasoningOut(t *testing.T) {
	t.Parallel()
	m := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
		{Type: llm.PartReasoning, Text: "hm"}, llm.Text("a"), {Type: llm.PartReasoning, Text: "hm"}, llm.Text("b"),
	}}
	assert.Equal(t, "ab", m.Text())
}

func TestMessageCloneSharesNothing(t *testing.T) {
	t.Parallel()
	for i, m := range conversation() {
		c := m.Clone()
		require.Equal(t, m, c, "message %d", i)
		for j := range c.Parts {
			c.Parts[j].Text = "changed"
			clear(c.Parts[j].Data)
			clear(c.Parts[j].Metadata)
		}
		for j := range c.ToolCalls {
			c.ToolCalls[j].ID = "changed"
			clear(c.ToolCalls[j].Arguments)
			clear(c.ToolCalls[j].Metadata)
		}
		if c.Usage != nil {
			c.Usage.Input = -1
		}
		for _, value := range c.Metadata {
			clear(value)
		}
		clear(c.Metadata)
		assert.Equal(t, conversation()[i], m, "message %d changed with its clone", i)
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	m := llm.User("a")
	assert.Empty(t, llm.ByID.ID(m))
	named := llm.ByID.WithID(m, "m1")
	assert.Equal(t, "m1", named.ID)
	assert.Empty(t, m.ID)
}

func TestUsageAdd(t *testing.T) {
	t.Parallel()
	u := llm.Usage{Input: 1, Output: 2, Total: 3, Cached: 1, Reasoning: 1}
	want := llm.Usage{Input: 2, Output: 4, Total: 6, Cached: 2, Reasoning: 2}
	assert.Equal(t, want, u.Add(u))
	assert.Equal(t, u, u.Add(llm.Usage{}))
}

func TestToolCallIsPrintedAsText(t *testing.T) {
	t.Parallel()
	call := llm.ToolCall{ID: "call_1", Name: "lookup", Arguments: json.RawMessage(`{"id":"A-1"}`)}
	assert.Equal(t, `lookup({"id":"A-1"})`, fmt.Sprint(call))
	assert.Equal(t, `lookup({"id":"A-1"})`, fmt.Sprint(&call))
}

// The message in docs/models.md has the JSON form in which Weft stores it.
func TestTheMessageOfTheGuideIsStoredAsItIs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/message.json")
	require.NoError(t, err)
	var m llm.Message
	require.NoError(t, json.Unmarshal(text, &m))
	require.NoError(t, m.Validate())
	stored, err := json.Marshal(m)
	require.NoError(t, err)
	var want bytes.Buffer
	require.NoError(t, json.Compact(&want, text))
	assert.Equal(t, want.String(), string(stored), "each field, in the order of the guide")
}
