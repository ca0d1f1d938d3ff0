package llm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	return bytes.Equal(normal(t, a), normal(t, b))
}

func normal(t *testing.T, text []byte) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v), "%s", text)
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return out
}

// TestLangChainFilesComeBackEqual proves that rows of LangChain do not change when Weft reads them,
// stores them in its own form, and writes them again.
func TestLangChainFilesComeBackEqual(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"langchain-js.json", "langchain-py.json", "langchain-odd.json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile("testdata/" + name)
			require.NoError(t, err)
			messages, err := llm.FromLangChain(want)
			require.NoError(t, err)
			stored, err := json.Marshal(messages)
			require.NoError(t, err)
			var again []llm.Message
			require.NoError(t, json.Unmarshal(stored, &again))
			assert.Equal(t, messages, again, "stored as %s", stored)
			checkEntries(t, again, want)
		})
	}
}

// checkEntries compares the LangChain form of messages with the wanted one.
func checkEntries(t *testing.T, messages []llm.Message, want []byte) {
	t.Helper()
	written, err := llm.ToLangChain(messages)
	require.NoError(t, err)
	var got, wanted []json.RawMessage
	require.NoError(t, json.Unmarshal(written, &got))
	require.NoError(t, json.Unmarshal(want, &wanted))
	require.Len(t, got, len(wanted))
	for i := range got {
		assert.Equal(t, string(normal(t, wanted[i])), string(normal(t, got[i])), "message %d", i)
	}
}

func TestLangChainFileMeans(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/langchain-js.json")
	require.NoError(t, err)
	got, err := llm.FromLangChain(file)
	require.NoError(t, err)
	weather := func(id, arguments string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: "get_weather", Arguments: json.RawMessage(arguments)}
	}
	question := llm.User("What is the weather in Athens and in Lyon? Grüße ☀️ \x00 end")
	question.ID, question.Name = "h1", "ann"
	turn := llm.Assistant("", weather("call_1", `{"city":"Athens","days":2}`), weather("call_2", `{"city":"Lyon"}`))
	turn.ID, turn.StopReason = "a1", llm.StopToolCalls
	turn.Usage = &llm.Usage{Input: 120, Output: 24, Total: 144, Cached: 100}
	turn.Metadata = map[string]json.RawMessage{"model_name": json.RawMessage(`"m-1"`)}
	result := llm.ToolResult(turn.ToolCalls[0], `{"sky":"clear","celsius":31}`)
	result.ID, result.Status = "t1", ""
	failure := llm.ToolError(turn.ToolCalls[1], "no such city")
	failure.ID = "t2"
	answer := llm.Assistant("Clear, 31 °C in Athens; Lyon is unknown.")
	answer.ID, answer.Usage = "a2", &llm.Usage{Input: 180, Output: 16, Total: 196}
	picture := llm.User("What is this?", llm.Image("image/png", []byte("\x89PNG\r\n\x1a\n")))
	picture.ID = "h2"
	want := []llm.Message{llm.System("You are a helpful assistant."), question, turn, result, failure, answer, picture}
	require.Len(t, got, 8)
	for i := range want {
		assert.Equal(t, want[i], got[i], "message %d", i)
	}
	last := got[7]
	assert.Equal(t, "A very small PNG.", last.Text())
	require.Len(t, last.ToolCalls, 1)
	call := last.ToolCalls[0]
	assert.Equal(t, "{not json", call.Text())
	assert.Equal(t, "Unexpected token", call.Invalid)
	assert.Equal(t, "call_3", call.ID)
}

// TestLangChainKeepsWeftsMessages proves that Weft reads every kind of message that it writes.
func TestLangChainKeepsWeftsMessages(t *testing.T) {
	t.Parallel()
	signed := llm.Assistant("so", llm.ToolCall{ID: "c", Name: "f", Signature: "s2"}, llm.InvalidCall("d", "g", "{", "broken"))
	signed.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: "hm", Signature: "s1"}}, signed.Parts...)
	signed.Usage = &llm.Usage{Input: 3, Output: 4, Total: 7, Cached: 1, CacheWrite: 2, Reasoning: 3}
	signed.StopReason = llm.StopLength
	picture := llm.ImageURL("https://example.com/a.png")
	picture.Detail = "low"
	messages := append(conversation(), signed, llm.User("", picture, llm.Part{Type: llm.PartFile, URL: "https://example.com/a.pdf"}, llm.Part{Type: llm.PartOther}), llm.Relay("a task"))
	written, err := llm.ToLangChain(messages)
	require.NoError(t, err)
	got, err := llm.FromLangChain(written)
	require.NoError(t, err)
	for i := range messages {
		want := messages[i].Clone()
		for j := range want.ToolCalls {
			if want.ToolCalls[j].Arguments == nil {
				want.ToolCalls[j].Arguments = json.RawMessage("{}")
			}
		}
		assert.Equal(t, want, got[i], "message %d", i)
	}
}

func TestLangChainReads(t *testing.T) {
	t.Parallel()
	ai := func(data string) string { return `[{"type":"ai","data":` + data + `}]` }
	tests := []struct {
		name  string
		give  string
		check func(m llm.Message) bool
	}{
		{"a chunk", `[{"type":"AIMessageChunk","data":{"content":"a"}}]`, func(m llm.Message) bool { return m.Role == llm.RoleAssistant }},
		{"a chat message of a role", `[{"type":"chat","data":{"content":"a","role":"assistant"}}]`, func(m llm.Message) bool { return m.Role == llm.RoleAssistant }},
		{"a chat message of its own role", `[{"type":"generic","data":{"content":"a","role":"pirate"}}]`, func(m llm.Message) bool { return m.Role == llm.RoleUser }},
		{"calls of the provider", ai(`{"content":"","additional_kwargs":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\": 1}"}},{"id":"2","function":{"name":"f","arguments":"{\"a\""}}]}}`), func(m llm.Message) bool {
			return string(m.ToolCalls[0].Arguments) == `{"a":1}` && m.ToolCalls[1].Invalid != "" && m.ToolCalls[1].Text() == `{"a"`
		}},
		{"a call without an id", ai(`{"content":"","tool_calls":[{"name":"f","args":{},"id":null}]}`), func(m llm.Message) bool { return m.ToolCalls[0].ID != "" }},
		{"calls of one id", ai(`{"content":"","tool_calls":[{"name":"f","args":{},"id":"1"},{"name":"f","args":{},"id":"1"}]}`), func(m llm.Message) bool { return m.ToolCalls[0].ID != m.ToolCalls[1].ID }},
		{"usage of Anthropic", ai(`{"content":"a","response_metadata":{"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}}}`), func(m llm.Message) bool {
			return *m.Usage == llm.Usage{Input: 15, Output: 5, Total: 20, Cached: 3, CacheWrite: 2} && m.StopReason == llm.StopEnd
		}},
		{"usage of OpenAI", ai(`{"content":"a","response_metadata":{"finish_reason":"length","token_usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}}`), func(m llm.Message) bool {
			return *m.Usage == llm.Usage{Input: 10, Output: 5, Total: 15, Cached: 4, Reasoning: 2} && m.StopReason == llm.StopLength
		}},
		{"usage that is none", ai(`{"content":"a","usage_metadata":{"input_tokens":"many"}}`), func(m llm.Message) bool { return m.Usage == nil }},
		{"thinking", ai(`{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"}]}`), func(m llm.Message) bool {
			p := m.Parts[0]
			return p.Type == llm.PartReasoning && p.Text == "hm" && p.Signature == "s" && m.Parts[1].Type == llm.PartReasoning
		}},
		{"a block of another kind", ai(`{"content":[{"type":"tool_use","id":"1"},{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}`), func(m llm.Message) bool {
			return m.Parts[0].Type == llm.PartOther && m.Text() == "a" && string(m.Parts[1].Metadata["cache_control"]) == `{"type":"ephemeral"}`
		}},
		{"an image of Anthropic", ai(`{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}`), func(m llm.Message) bool {
			p := m.Parts[0]
			return p.Type == llm.PartImage && p.MIMEType == "image/png" && len(p.Data) == 3
		}},
		{"an image that is not base64", ai(`{"content":[{"type":"image","base64":"?","mime_type":"image/png"}]}`), func(m llm.Message) bool { return m.Parts[0].Type == llm.PartOther }},
		{"media", ai(`{"content":[{"type":"media","mime_type":"image/gif","data":"AAAA"},{"type":"media","mime_type":"application/pdf","data":"AAAA"}]}`), func(m llm.Message) bool {
			return m.Parts[0].Type == llm.PartImage && m.Parts[1].Type == llm.PartFile
		}},
		{"a file of OpenAI", ai(`{"content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]}`), func(m llm.Message) bool {
			p := m.Parts[0]
			return p.Type == llm.PartFile && p.Name == "a.pdf" && p.MIMEType == "application/pdf" && len(p.Data) == 3
		}},
		{"a file kept by the provider", ai(`{"content":[{"type":"file","file_id":"f1"}]}`), func(m llm.Message) bool { return m.Parts[0].Type == llm.PartOther }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			messages, err := llm.FromLangChain([]byte(test.give))
			require.NoError(t, err)
			assert.True(t, test.check(messages[0]), "got %+v", messages[0])
			checkEntries(t, messages, []byte(test.give))
		})
	}
}

func TestLangChainFunctions(t *testing.T) {
	t.Parallel()
	const stored = `[
		{"type":"ai","data":{"content":"","additional_kwargs":{"function_call":{"name":"f","arguments":"{\"a\":1}"}}}},
		{"type":"function","data":{"content":"done","name":"f"}},
		{"type":"function","data":{"content":"nobody asked","name":"g"}}]`
	messages, err := llm.FromLangChain([]byte(stored))
	require.NoError(t, err)
	call := messages[0].ToolCalls[0]
	assert.Equal(t, "f", call.Name)
	assert.Equal(t, `{"a":1}`, call.Text())
	assert.Equal(t, call.ID, messages[1].ToolCallID)
	assert.NotEmpty(t, messages[2].ToolCallID, "the id of a call that is missing")
	assert.NotEqual(t, call.ID, messages[2].ToolCallID)
	checkEntries(t, messages, []byte(stored))
}

func TestLangChainRemoves(t *testing.T) {
	t.Parallel()
	const a, b, c = `{"type":"human","data":{"id":"a","content":"a"}}`, `{"type":"human","data":{"id":"b","content":"b"}}`, `{"type":"human","data":{"content":"c"}}`
	remove := func(id string) string { return `{"type":"remove","data":{"id":"` + id + `","content":""}}` }
	tests := []struct {
		name string
		give []string
		want string
		err  string
	}{
		{"one", []string{a, b, remove("a"), c}, "bc", ""},
		{"all", []string{a, b, remove("__remove_all__"), c}, "c", ""},
		{"one that is not there", []string{a, remove("b"), b}, "", `message 1: removes "b"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			messages, err := llm.FromLangChain([]byte("[" + strings.Join(test.give, ",") + "]"))
			checkInvalid(t, err, test.err)
			var got string
			for _, m := range messages {
				got += m.Text()
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// TestLangChainWritesChanges proves that changed fields are written with their new values, and all
// other fields as they were read.
func TestLangChainWritesChanges(t *testing.T) {
	t.Parallel()
	const stored = `[{"type":"ai","data":{"id":null,"name":null,"example":false,"type":"ai","content":[{"type":"text","text":"old","index":0}],
		"tool_calls":[{"name":"f","args":{"a":1},"id":"1"}],"invalid_tool_calls":[],"artifact":null,
		"usage_metadata":{"input_tokens":1,"output_tokens":1,"total_tokens":2,"input_token_details":{"audio":1}},
		"additional_kwargs":{"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}],"x":1},"response_metadata":{"finish_reason":"tool_calls"}}}]`
	messages, err := llm.FromLangChain([]byte(stored))
	require.NoError(t, err)
	m := &messages[0]
	m.ID, m.ToolCalls, m.Parts[0].Text, m.StopReason = "m1", nil, "new", llm.StopEnd
	m.Usage.Output, m.Usage.Total = 2, 3
	checkEntries(t, messages, []byte(`[{"type":"ai","data":{"id":"m1","name":null,"example":false,"type":"ai","content":[{"type":"text","text":"new","index":0}],
		"tool_calls":[],"invalid_tool_calls":[],"artifact":null,
		"usage_metadata":{"input_tokens":1,"output_tokens":2,"total_tokens":3},
		"additional_kwargs":{"x":1},"response_metadata":{"finish_reason":"stop"}}}]`))

	const used = `[{"type":"ai","data":{"content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"1","name":"f","input":{}}],"tool_calls":[{"name":"f","args":{},"id":"1"}]}}]`
	messages, err = llm.FromLangChain([]byte(used))
	require.NoError(t, err)
	messages[0].ToolCalls = nil
	checkEntries(t, messages, []byte(`[{"type":"ai","data":{"content":"Let me look.","tool_calls":[]}}]`))

	const picture = `[{"type":"human","data":{"content":[{"type":"image","source_type":"base64","mime_type":"image/png","data":"AAAA","x":1}]}}]`
	messages, err = llm.FromLangChain([]byte(picture))
	require.NoError(t, err)
	messages[0].Parts[0].Data = []byte("\x01\x02\x03")
	checkEntries(t, messages, []byte(strings.Replace(picture, "AAAA", "AQID", 1)))
	messages[0].Parts[0].MIMEType = "image/gif"
	checkEntries(t, messages, []byte(`[{"type":"human","data":{"content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,AQID"},"x":1}]}}]`))
}

func TestLangChainRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{"no JSON", `[`, "unexpected end"},
		{"no list", `{"type":"ai"}`, "cannot unmarshal"},
		{"not UTF-8", "[\"\xff\"]", "not UTF-8"},
		{"no data", `[{"type":"ai"}]`, "message 0: no data"},
		{"unknown type", `[{"type":"alien","data":{"content":""}}]`, `unknown type "alien"`},
		{"content of a number", `[{"type":"ai","data":{"content":1}}]`, "neither a text nor a list"},
		{"a block of a number", `[{"type":"ai","data":{"content":["a",1]}}]`, "block 1: neither a text nor an object"},
		{"a result without its call", `[{"type":"tool","data":{"content":""}}]`, "without the id of its call"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := llm.FromLangChain([]byte(test.give))
			checkInvalid(t, err, test.want)
		})
	}
	messages, err := llm.FromLangChain([]byte("null"))
	require.NoError(t, err)
	assert.Nil(t, messages)
	_, err = llm.ToLangChain([]llm.Message{{}})
	require.ErrorIs(t, err, llm.ErrInvalid, "the zero message")
	written, err := llm.ToLangChain(nil)
	require.NoError(t, err)
	assert.Equal(t, "[]", string(written))
}

// FuzzFromLangChain proves that a row that FromLangChain reads does not change when ToLangChain writes it.
func FuzzFromLangChain(f *testing.F) {
	for _, name := range []string{"langchain-js.json", "langchain-py.json", "langchain-odd.json"} {
		file, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		var entries []json.RawMessage
		require.NoError(f, json.Unmarshal(file, &entries))
		for _, entry := range entries {
			f.Add([]byte("[" + string(entry) + "]"))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, err := llm.FromLangChain(data)
		if err != nil {
			require.ErrorIs(t, err, llm.ErrInvalid)
			return
		}
		written, err := llm.ToLangChain(messages)
		require.NoError(t, err)
		if bytes.Contains(data, []byte("remove")) || bytes.Equal(data, []byte("null")) {
			return // a message or a removal may be missing in the result
		}
		require.True(t, sameEntries(t, written, data), "got  %s\nwant %s\nfrom %+v", normal(t, written), normal(t, data), messages)
	})
}

// sameEntries compares two lists. If a key occurs twice, its last value counts.
func sameEntries(t *testing.T, a, b []byte) bool {
	t.Helper()
	var as, bs []json.RawMessage
	if json.Unmarshal(a, &as) != nil || json.Unmarshal(b, &bs) != nil || len(as) != len(bs) {
		return len(as) == len(bs)
	}
	for i := range as {
		if !sameJSON(t, as[i], bs[i]) {
			return false
		}
	}
	return true
}

// FuzzToLangChain proves that FromLangChain reads the output of ToLangChain with the same role, text
// and number of calls.
func FuzzToLangChain(f *testing.F) {
	for _, m := range conversation() {
		text, err := json.Marshal(m)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		var m llm.Message
		if json.Unmarshal(stored, &m) != nil || m.Validate() != nil {
			return
		}
		written, err := llm.ToLangChain([]llm.Message{m})
		require.NoError(t, err)
		require.True(t, json.Valid(written), "wrote %s", written)
		back, err := llm.FromLangChain(written)
		require.NoError(t, err, "wrote %s", written)
		got := back[0]
		if slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Type == llm.PartOther }) {
			m.Parts, got.Parts = nil, nil // FromLangChain can read the block of a PartOther as a text
		}
		require.Equal(t, m.Text(), got.Text(), "wrote %s", written)
		require.Equal(t, m.Role, got.Role, "wrote %s", written)
		require.Len(t, got.ToolCalls, len(m.ToolCalls), "wrote %s", written)
		require.GreaterOrEqual(t, len(got.Parts), min(1, len(m.Text())), "wrote %s", written)
	})
}

func TestParseStopReason(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.StopReason{
		"stop": llm.StopEnd, "end_turn": llm.StopEnd, "STOP": llm.StopEnd, "FinishReasonStop": llm.StopEnd,
		"tool_calls": llm.StopToolCalls, "toolUse": llm.StopToolCalls,
		"MAX_TOKENS": llm.StopLength, "model_context_window_exceeded": llm.StopLength,
		"FinishReasonSafety": llm.StopFilter, "IMAGE_SAFETY": llm.StopFilter, "content-filter": llm.StopFilter,
		"": "", "FinishReason": "", "tired": "",
	} {
		assert.Equal(t, want, llm.ParseStopReason(word), word)
	}
}
