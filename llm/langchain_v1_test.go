package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// storedAndBack reads a row of LangChain, stores and loads it in Weft's form, checks that ToLangChain
// then writes the same row, and returns its messages.
func storedAndBack(t *testing.T, row string) []llm.Message {
	t.Helper()
	messages, err := llm.FromLangChain([]byte(row))
	require.NoError(t, err)
	stored, err := json.Marshal(messages)
	require.NoError(t, err)
	var again []llm.Message
	require.NoError(t, json.Unmarshal(stored, &again))
	require.Equal(t, messages, again)
	checkEntries(t, again, []byte(row))
	return messages
}

// TestContentBlocksAreRead proves that a row of JavaScript whose content is in contentBlocks is
// read with its parts and tool calls, and written as it was.
func TestContentBlocksAreRead(t *testing.T) {
	t.Parallel()
	got := storedAndBack(t, `[
		{"type":"human","data":{"contentBlocks":[{"type":"text","text":"What is this?"},{"type":"image","mimeType":"image/png","data":"AAAA"}],"response_metadata":{"output_version":"v1"}}},
		{"type":"human","data":{"content":"","contentBlocks":[{"type":"text","text":"one"}]}},
		{"type":"ai","data":{"content":[],"contentBlocks":[{"type":"reasoning","reasoning":"hm"},{"type":"text","text":"Let me look."},
			{"type":"tool_call","id":"c1","name":"f","args":{"a":1}}]}},
		{"type":"tool","data":{"content":null,"contentBlocks":[{"type":"text","text":"sunny"}],"tool_call_id":"c1"}},
		{"type":"ai","data":{"contentBlocks":[{"type":"tool_call","id":"c2","name":"g","args":{}}],"tool_calls":[{"type":"tool_call","id":"c2","name":"g","args":{}}]}},
		{"type":"human","data":{"content":"the content counts","contentBlocks":[{"type":"text","text":"another"}]}},
		{"type":"human","data":{"content":"","contentBlocks":[]}}]`)
	assert.Equal(t, "What is this?", got[0].Text())
	assert.Equal(t, llm.PartImage, got[0].Parts[1].Type)
	assert.Equal(t, []byte{0, 0, 0}, got[0].Parts[1].Data)
	assert.Equal(t, "one", got[1].Text())
	assert.Equal(t, llm.PartReasoning, got[2].Parts[0].Type)
	assert.Equal(t, "Let me look.", got[2].Text())
	require.Len(t, got[2].ToolCalls, 1)
	assert.Equal(t, "c1", got[2].ToolCalls[0].ID)
	assert.JSONEq(t, `{"a":1}`, string(got[2].ToolCalls[0].Arguments))
	assert.Equal(t, "sunny", got[3].Text())
	assert.Len(t, got[4].ToolCalls, 1)
	assert.Equal(t, "the content counts", got[5].Text())

	got[1].Parts[0].Text = "two"
	got[2].ToolCalls = nil
	checkEntries(t, got[1:3], []byte(`[
		{"type":"human","data":{"content":"","contentBlocks":[{"type":"text","text":"two"}]}},
		{"type":"ai","data":{"content":[],"contentBlocks":[{"type":"reasoning","reasoning":"hm"},{"type":"text","text":"Let me look."}],"tool_calls":[]}}]`))
}

// TestContentBlocksOfAnotherFormAreAnError proves that contentBlocks that are not a list are an error,
// and not an empty message.
func TestContentBlocksOfAnotherFormAreAnError(t *testing.T) {
	t.Parallel()
	_, err := llm.FromLangChain([]byte(`[{"type":"human","data":{"contentBlocks":{"type":"text"}}}]`))
	require.ErrorIs(t, err, llm.ErrInvalid)
	require.ErrorContains(t, err, "message 0: contentBlocks")
}

// TestRedactedThinkingIsReasoning proves that FromLangChain reads reasoning that Anthropic does not
// show as a reasoning part, and that ToLangChain writes it back.
func TestRedactedThinkingIsReasoning(t *testing.T) {
	t.Parallel()
	const row = `[{"type":"ai","data":{"content":[{"type":"redacted_thinking","data":"eA==","index":0},{"type":"text","text":"so"}]}}]`
	got := storedAndBack(t, row)
	assert.Equal(t, llm.PartReasoning, got[0].Parts[0].Type)
	assert.Equal(t, "redacted_thinking:eA==", got[0].Parts[0].Signature)

	own := llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Type: llm.PartReasoning, Signature: "redacted_thinking:eA=="}, llm.Text("so")}}
	written, err := llm.ToLangChain([]llm.Message{own})
	require.NoError(t, err)
	assert.Contains(t, string(written), `{"data":"eA==","type":"redacted_thinking"}`)
	again, err := llm.FromLangChain(written)
	require.NoError(t, err)
	assert.Equal(t, own.Parts[0].Signature, again[0].Parts[0].Signature)

	// An earlier version of Weft wrote this form.
	got = storedAndBack(t, `[{"type":"ai","data":{"content":[{"type":"reasoning","reasoning":"","extras":{"signature":"redacted_thinking:eA=="}},{"type":"text","text":"so"}]}}]`)
	assert.Equal(t, own.Parts[0].Signature, got[0].Parts[0].Signature)
	got = storedAndBack(t, `[{"type":"ai","data":{"content":[{"type":"redacted_thinking"},{"type":"text","text":"so"}]}}]`)
	assert.Equal(t, llm.PartOther, got[0].Parts[0].Type, "a block without its data")
}
