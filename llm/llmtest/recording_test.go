package llmtest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

var add = llm.ToolSpec{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}

// converse asks a model for a tool call, answers it, and returns the chunks of both replies.
func converse(t *testing.T, m llm.Model) []llm.Chunk {
	t.Helper()
	r := llm.Request{Messages: []llm.Message{llm.System("Be <brief>."), llm.User("Add.", llm.Image("image/png", []byte{1, 2}))}, Tools: []llm.ToolSpec{add}}
	var all []llm.Chunk
	ask := func() llm.Message {
		var reply llm.Message
		for c, err := range llm.Stream(t.Context(), m, r, &reply) {
			require.NoError(t, err)
			c.MessageID = ""
			all = append(all, c)
		}
		return reply
	}
	reply := ask()
	r.Messages = append(r.Messages, reply, llm.ToolResult(reply.ToolCalls[0], "3"))
	assert.Equal(t, "It is 3. é", ask().Text())
	return all
}

// recorded returns the path of a recording of converse, and its chunks.
func recorded(t *testing.T) (string, []llm.Chunk) {
	t.Helper()
	call := llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Name: "add", Arguments: `{"a":1}`}} // without an id
	thought := llm.Chunk{Kind: llm.ChunkReasoning, Text: "hm", Signature: "s", MessageID: "m1"}
	picture := llm.Chunk{Kind: llm.ChunkPart, Part: &llm.Part{Type: llm.PartImage, URL: "https://example.com/a.png"}}
	model := llmtest.NewScript(
		llmtest.Reply{Chunks: []llm.Chunk{thought, call, {Kind: llm.ChunkEnd, StopReason: llm.StopToolCalls, Usage: &llm.Usage{Input: 1, Output: 2, Total: 3}}}},
		llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkText, Text: "It is 3. \xc3"}, {Kind: llm.ChunkText, Text: "\xa9"}, picture, {Kind: llm.ChunkEnd}}},
	)
	path := filepath.Join(t.TempDir(), "add.jsonl")
	r, err := llmtest.NewRecording(path, llmtest.RecordingOptions{Update: true, Model: model})
	require.NoError(t, err)
	return path, converse(t, r)
}

// TestRecordingReplaysTheSameChunks proves that a recording replays a conversation without the
// model, any number of times, in the same chunks, although the ids of messages and of the tool
// call differ each time.
func TestRecordingReplaysTheSameChunks(t *testing.T) {
	t.Parallel()
	path, want := recorded(t)
	r, err := llmtest.NewRecording(path, llmtest.RecordingOptions{})
	require.NoError(t, err)
	for range 3 {
		assert.Equal(t, want, converse(t, r))
	}
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	require.Len(t, lines, 2, "one line per reply")
	assert.Contains(t, lines[0], `Be <brief>.`, "the file is readable")
	for _, line := range lines {
		assert.True(t, json.Valid([]byte(line)))
	}
	for range 4 {
		t.Run("at once", func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, converse(t, r))
		})
	}
}

// TestUnknownRequestShowsTheDifference proves that the error of a request that is not recorded
// shows the difference from a recorded request.
func TestUnknownRequestShowsTheDifference(t *testing.T) {
	t.Parallel()
	path, _ := recorded(t)
	r, err := llmtest.NewRecording(path, llmtest.RecordingOptions{Model: llmtest.Echo{}})
	require.NoError(t, err)
	request := llm.Request{Messages: []llm.Message{llm.System("Be <brief>."), llm.User("Subtract.", llm.Image("image/png", []byte{1, 2}))}, Tools: []llm.ToolSpec{add}}
	_, err = llm.Generate(t.Context(), r, request)
	require.ErrorIs(t, err, llmtest.ErrNotRecorded)
	require.ErrorContains(t, err, "add.jsonl")
	require.ErrorContains(t, err, `-           "text": "Add.",`)
	require.ErrorContains(t, err, `+           "text": "Subtract.",`)
	assert.NotContains(t, err.Error(), "brief")

	request.MaxTokens = 7
	_, err = llm.Generate(t.Context(), r, request)
	require.ErrorContains(t, err, `+   "max_tokens": 7,`)
}

// TestRepeatedRequestsReplayInOrder proves that the replies to equal requests are used in order,
// and that the last one is repeated.
func TestRepeatedRequestsReplayInOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "r.jsonl")
	hi := llm.Request{Messages: []llm.Message{llm.User("hi")}}
	ask := func(m llm.Model) string {
		reply, err := llm.Generate(t.Context(), m, hi)
		require.NoError(t, err)
		return reply.Text()
	}
	r, err := llmtest.NewRecording(path, llmtest.RecordingOptions{Update: true, Model: llmtest.NewScript(llmtest.Say("a"), llmtest.Say("b"))})
	require.NoError(t, err)
	ask(r)
	ask(r)
	r, err = llmtest.NewRecording(path, llmtest.RecordingOptions{})
	require.NoError(t, err)
	assert.Equal(t, "abbb", ask(r)+ask(r)+ask(r)+ask(r))
}

// TestOnlyWholeRepliesAreRecorded proves that a reply that failed, or that was not read to its end,
// is not in the file, and that an update replaces the file.
func TestOnlyWholeRepliesAreRecorded(t *testing.T) {
	t.Parallel()
	path, _ := recorded(t)
	hi := llm.Request{Messages: []llm.Message{llm.User("hi")}}
	model := llmtest.NewScript(llmtest.Fail(llm.ErrOverloaded), llmtest.Say("left"), llmtest.Say("ok"))
	r, err := llmtest.NewRecording(path, llmtest.RecordingOptions{Update: true, Model: model})
	require.NoError(t, err)
	_, err = llm.Generate(t.Context(), r, hi)
	require.ErrorIs(t, err, llm.ErrOverloaded)
	for _, err := range r.Stream(t.Context(), hi) {
		require.NoError(t, err)
		break
	}
	_, err = llm.Generate(t.Context(), r, hi)
	require.NoError(t, err)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(file), "\n"))
	assert.NotContains(t, string(file), "left")
}

// TestRecordingsThatCannotBeOpened proves that the errors say what to do.
func TestRecordingsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := llmtest.NewRecording(filepath.Join(dir, "none.jsonl"), llmtest.RecordingOptions{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "RecordingOptions.Update")
	_, err = llmtest.NewRecording(filepath.Join(dir, "none.jsonl"), llmtest.RecordingOptions{Update: true})
	require.ErrorContains(t, err, "needs a Model")
	broken := filepath.Join(dir, "broken.jsonl")
	require.NoError(t, os.WriteFile(broken, []byte("\n{\n"), 0o600))
	_, err = llmtest.NewRecording(broken, llmtest.RecordingOptions{})
	require.ErrorContains(t, err, "line 2")

	path, _ := recorded(t)
	r, err := llmtest.NewRecording(path, llmtest.RecordingOptions{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = llm.Generate(ctx, r, llm.Request{Messages: []llm.Message{llm.User("hi")}})
	require.ErrorIs(t, err, context.Canceled)
}
