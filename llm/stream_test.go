package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// playing returns a model that streams chunks, and then err unless it is nil.
func playing(chunks []llm.Chunk, err error) llm.Model {
	return llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			for _, c := range chunks {
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(llm.Chunk{}, err)
			}
		}
	})
}

func text(s string) llm.Chunk    { return llm.Chunk{Kind: llm.ChunkText, Text: s} }
func thought(s string) llm.Chunk { return llm.Chunk{Kind: llm.ChunkReasoning, Text: s} }
func end(r llm.StopReason) llm.Chunk {
	return llm.Chunk{Kind: llm.ChunkEnd, StopReason: r}
}

func delta(index int, id, name, arguments string) llm.Chunk {
	return llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Index: index, ID: id, Name: name, Arguments: arguments}}
}

var hello = llm.Request{Messages: []llm.Message{llm.User("hi")}}

func TestGenerateAssembles(t *testing.T) {
	t.Parallel()
	call := func(id, name, arguments string) llm.ToolCall {
		return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	}
	usage := &llm.Usage{Input: 3, Output: 2, Total: 5}
	metadata := map[string]json.RawMessage{"model": json.RawMessage(`"m"`)}
	tests := []struct {
		name   string
		chunks []llm.Chunk
		want   llm.Message
	}{
		{"one text", []llm.Chunk{text("hi")}, llm.Assistant("hi")},
		{"texts are one part", []llm.Chunk{text("h"), text(""), text("i")}, llm.Assistant("hi")},
		{"a character in two pieces", []llm.Chunk{text("\xc3"), text("\xa9")}, llm.Assistant("é")},
		{"an empty answer that says so", []llm.Chunk{end(llm.StopEnd)}, llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopEnd}},
		{
			"reasoning and text in order",
			[]llm.Chunk{thought("a"), thought("b"), text("c"), thought("d"), text("e")},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Type: llm.PartReasoning, Text: "ab"}, llm.Text("c"), {Type: llm.PartReasoning, Text: "d"}, llm.Text("e"),
			}},
		},
		{
			"the end",
			[]llm.Chunk{text("hi"), {Kind: llm.ChunkEnd, StopReason: llm.StopLength, Usage: usage, Metadata: metadata}},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Text("hi")}, StopReason: llm.StopLength, Usage: usage, Metadata: metadata},
		},
		{
			"mixed calls, out of order",
			[]llm.Chunk{
				text("both: "), delta(7, "b", "sub", `{"a": {"b"`), delta(2, "a", "add", ""), delta(7, "", "", `: 1}}`),
				delta(2, "a", "add", `{"a":`), text("now"), delta(2, "", "", ` [1, 2]} `),
			},
			llm.Assistant("both: now", call("a", "add", `{"a":[1,2]}`), call("b", "sub", `{"a":{"b":1}}`)),
		},
		{
			"signatures",
			[]llm.Chunk{thought("a"), {Kind: llm.ChunkReasoning, Text: "b", Signature: "s1"}, thought("c"), {Kind: llm.ChunkReasoning, Signature: "s2"}, {Kind: llm.ChunkReasoning, Signature: "s3"}, text("d"), {Kind: llm.ChunkText, Signature: "s4"}, text("e")},
			llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Type: llm.PartReasoning, Text: "ab", Signature: "s1"},
				{Type: llm.PartReasoning, Text: "c", Signature: "s2"},
				{Type: llm.PartReasoning, Signature: "s3"},
				{Type: llm.PartText, Text: "d", Signature: "s4"},
				llm.Text("e"),
			}},
		},
		{
			"a signed call",
			[]llm.Chunk{delta(0, "a", "now", ""), {Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Signature: "s"}}},
			llm.Assistant("", llm.ToolCall{ID: "a", Name: "now", Arguments: json.RawMessage(`{}`), Signature: "s"}),
		},
		{
			"broken arguments of a whole reply",
			[]llm.Chunk{delta(0, "a", "add", `{"a":`), delta(1, "b", "sub", `{}`), delta(2, "c", "mul", `{"a":1}}`), delta(3, "d", "div", "{\"a\":\"\xff\"}"), end(llm.StopToolCalls)},
			llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolCalls, ToolCalls: []llm.ToolCall{
				llm.InvalidCall("a", "add", `{"a":`, "unexpected end of JSON input"), call("b", "sub", `{}`),
				llm.InvalidCall("c", "mul", `{"a":1}}`, "invalid character '}' after top-level value"),
				llm.InvalidCall("d", "div", "{\"a\":\"\ufffd\"}", "they are not UTF-8"),
			}},
		},
		{"no arguments", []llm.Chunk{delta(0, "a", "now", "")}, llm.Assistant("", call("a", "now", `{}`))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.chunks[len(test.chunks)-1].Kind != llm.ChunkEnd {
				test.chunks = append(test.chunks, end(""))
			}
			got, err := llm.Generate(t.Context(), playing(test.chunks, nil), hello)
			require.NoError(t, err)
			assert.NotEmpty(t, got.ID)
			got.ID = ""
			assert.Equal(t, test.want, got)
		})
	}
}

func TestGenerateRefuses(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	tests := []struct {
		name   string
		chunks []llm.Chunk
		err    error
		want   error
		text   string
	}{
		{"nothing", nil, nil, llm.ErrEmpty, "the stream ended"},
		{"empty text", []llm.Chunk{text(""), end("")}, nil, llm.ErrEmpty, ""},
		{"only reasoning", []llm.Chunk{thought("hm"), end("")}, nil, llm.ErrEmpty, ""},
		{"cut off before the answer", []llm.Chunk{thought("hm"), end(llm.StopLength)}, nil, llm.ErrEmpty, `reason "length"`},
		{"held back", []llm.Chunk{end(llm.StopFilter)}, nil, llm.ErrEmpty, "content filter"},
		{"calls announced and not made", []llm.Chunk{end(llm.StopToolCalls)}, nil, llm.ErrEmpty, `reason "tool_calls"`},
		{"text cut off", []llm.Chunk{text("The answer is")}, nil, io.ErrUnexpectedEOF, `broke off: it has no chunk of kind "end"`},
		{"text cut off is malformed", []llm.Chunk{text("The answer is")}, nil, llm.ErrMalformed, "unexpected EOF"},
		{"cut off after a call", []llm.Chunk{delta(0, "a", "add", `{"a":1}`)}, nil, io.ErrUnexpectedEOF, "broke off"},
		{"unknown stop reason", []llm.Chunk{text("a"), end("stop")}, nil, llm.ErrMalformed, `unknown stop reason "stop"; ParseStopReason`},
		{"arguments cut off by the limit", []llm.Chunk{delta(0, "a", "add", `{"a":1`), end(llm.StopLength)}, nil, llm.ErrMalformed, `tool call 0: the arguments of "add" are not JSON`},
		{"arguments held back", []llm.Chunk{delta(0, "a", "add", `{"a":1`), end(llm.StopFilter)}, nil, llm.ErrMalformed, "not JSON"},
		{"two arguments", []llm.Chunk{delta(0, "a", "add", `{}{}`), end(llm.StopLength)}, nil, llm.ErrMalformed, "not JSON"},
		{"arguments not UTF-8", []llm.Chunk{delta(0, "a", "add", "{\"a\":\"\xff\"}"), end(llm.StopLength)}, nil, llm.ErrMalformed, "not JSON"},
		{"text not UTF-8", []llm.Chunk{text("a\xc3"), end("")}, nil, llm.ErrMalformed, "not UTF-8"},
		{"call without name", []llm.Chunk{delta(3, "a", "", `{}`), end("")}, nil, llm.ErrMalformed, "tool call 3: no name"},
		{"negative index", []llm.Chunk{delta(-1, "a", "add", `{}`)}, nil, llm.ErrMalformed, "tool call -1"},
		{"two ids", []llm.Chunk{delta(0, "a", "add", ""), delta(0, "b", "", "")}, nil, llm.ErrMalformed, "two ids"},
		{"two names", []llm.Chunk{delta(0, "a", "add", ""), delta(0, "", "sub", "")}, nil, llm.ErrMalformed, "two names"},
		{"one id twice", []llm.Chunk{delta(0, "a", "add", ""), delta(1, "a", "sub", ""), end("")}, nil, llm.ErrMalformed, "used twice"},
		{"unknown kind", []llm.Chunk{{Kind: "audio"}}, nil, llm.ErrMalformed, `unknown kind "audio"`},
		{"after the end", []llm.Chunk{text("a"), end(""), text("b")}, nil, llm.ErrMalformed, "after the end"},
		{"two messages", []llm.Chunk{{Kind: llm.ChunkText, MessageID: "1", Text: "a"}, {Kind: llm.ChunkText, MessageID: "2", Text: "a"}}, nil, llm.ErrMalformed, "two messages"},
		{"the model's error", []llm.Chunk{text("a")}, down, down, "down"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := llm.Generate(t.Context(), playing(test.chunks, test.err), hello)
			assert.ErrorIs(t, err, test.want)
			assert.ErrorContains(t, err, test.text)
			assert.Equal(t, llm.Message{}, got)
		})
	}
}

func TestGenerateChecksTheRequest(t *testing.T) {
	t.Parallel()
	model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		assert.Fail(t, "the model was asked")
		return playing(nil, nil).Stream(t.Context(), hello)
	})
	_, err := llm.Generate(t.Context(), model, llm.Request{})
	checkInvalid(t, err, "no messages")
}

// TestNoModel proves that a nil model is an error, even if middleware wraps it.
func TestNoModel(t *testing.T) {
	t.Parallel()
	through := func(m llm.Model) []llm.Model {
		return []llm.Model{
			m, llm.Retry(m, llm.RetryPolicy{}), llm.Retry(m, llm.RetryPolicy{Whole: true}), llm.Limit(m, llm.Limits{}),
			llm.Fallback(m), llm.Trace(m, llm.Hooks{}), llm.Log(m, "main", slog.New(slog.DiscardHandler)),
		}
	}
	for i, m := range through(nil) {
		_, err := llm.Generate(t.Context(), m, hello)
		assert.ErrorIs(t, err, llm.ErrInvalid, "%d", i)
		assert.ErrorContains(t, err, "no model", "%d", i)
	}
	nothing := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { return nil })
	for i, m := range through(nothing) {
		_, err := llm.Generate(t.Context(), m, hello)
		assert.ErrorContains(t, err, "nil in place of a stream", "%d", i)
	}
}

func TestStreamShowsWhatItCollects(t *testing.T) {
	t.Parallel()
	model := playing([]llm.Chunk{thought("hm"), text("a"), delta(0, "", "now", ""), text("b"), end(llm.StopToolCalls)}, nil)
	var reply llm.Message
	var said string
	ids := map[string]bool{}
	for chunk, err := range llm.Stream(t.Context(), model, hello, &reply) {
		require.NoError(t, err)
		assert.Equal(t, llm.Message{}, reply)
		if chunk.Kind == llm.ChunkText {
			said += chunk.Text
		}
		ids[chunk.MessageID] = true
	}
	assert.Equal(t, "ab", said)
	assert.Equal(t, said, reply.Text())
	assert.Len(t, ids, 1)
	assert.True(t, ids[reply.ID])
	assert.NotEmpty(t, reply.ID)
	assert.NotEmpty(t, reply.ToolCalls[0].ID)
}

func TestStreamKeepsTheModelsID(t *testing.T) {
	t.Parallel()
	chunks := []llm.Chunk{{Kind: llm.ChunkText, MessageID: "m7", Text: "a"}, text("b"), end("")}
	got, err := llm.Generate(t.Context(), playing(chunks, nil), hello)
	assert.NoError(t, err)
	assert.Equal(t, "m7", got.ID)
}

func TestStreamLeftEarly(t *testing.T) {
	t.Parallel()
	left := false
	model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			for yield(text("a"), nil) {
			}
			left = true
		}
	})
	reply := llm.User("what was there before")
	for _, err := range llm.Stream(t.Context(), model, hello, &reply) {
		assert.NoError(t, err)
		break
	}
	assert.True(t, left)
	assert.Equal(t, llm.Message{}, reply)
}

func TestStreamEndsWithItsContext(t *testing.T) {
	t.Parallel()
	drained := errors.New("drained")
	broken := errors.New("connection reset")
	tests := []struct {
		name   string
		before bool  // the context is done before the model is asked, otherwise after a chunk
		err    error // the error of the model after that
		more   bool  // the model streams another chunk after that
	}{
		{"before", true, nil, false},
		{"as though all were well", false, nil, false},
		{"with another error", false, broken, false},
		{"with the context's error", false, context.Canceled, false},
		{"not at all", false, nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			chunks := []llm.Chunk{text("a")}
			if test.more {
				chunks = append(chunks, text("b"))
			}
			if test.before {
				cancel(drained)
				chunks = nil
			}
			var reply llm.Message
			var last error
			for _, err := range llm.Stream(ctx, playing(chunks, test.err), hello, &reply) {
				last = err
				cancel(drained)
			}
			for _, want := range []error{context.Canceled, drained, test.err} {
				if want != nil {
					assert.ErrorIs(t, last, want)
				}
			}
			assert.Empty(t, reply.Role)
		})
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	model := func(m llm.Message) llm.Model {
		return llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { return llm.Reply(m) })
	}
	for _, m := range conversation() {
		got, err := llm.Generate(t.Context(), model(m), hello)
		if m.Role != llm.RoleAssistant {
			checkInvalid(t, err, "role "+string(m.Role))
			continue
		}
		if m.ID == "m6" {
			checkInvalid(t, err, "part with metadata")
			m = m.Clone()
			m.Parts = m.Parts[:1]
			_, err = llm.Generate(t.Context(), model(m), hello)
			checkInvalid(t, err, "tool call with metadata")
			m.ToolCalls[0].Metadata, m.StopReason = nil, llm.StopToolCalls
			m.ToolCalls[1] = llm.InvalidCall("call_4", "f", `{"a":`, "unexpected end of JSON input")
			got, err = llm.Generate(t.Context(), model(m), hello)
		}
		require.NoError(t, err)
		want := m.Clone()
		if want.ID == "" {
			got.ID = ""
		}
		if want.StopReason == "" {
			want.StopReason = llm.StopEnd
		}
		for i := range want.ToolCalls {
			if want.ToolCalls[i].Arguments == nil {
				want.ToolCalls[i].Arguments = json.RawMessage(`{}`)
			}
		}
		assert.Equal(t, want, got)
	}
	noted := llm.Assistant("a")
	noted.Parts[0].Metadata = map[string]json.RawMessage{"k": json.RawMessage("1")}
	_, err := llm.Generate(t.Context(), model(noted), hello)
	checkInvalid(t, err, "part with metadata")
	_, err = llm.Generate(t.Context(), model(llm.Message{Role: "boss"}), hello)
	checkInvalid(t, err, "unknown role")
	for chunk, err := range llm.Reply(llm.Assistant("a")) {
		assert.NoError(t, err)
		assert.Equal(t, "a", chunk.Text)
		break
	}
}

// TestWholePartsAreStreamed proves that an image, a file and a part of another program pass
// through a stream in their place among the texts.
func TestWholePartsAreStreamed(t *testing.T) {
	t.Parallel()
	want := llm.Assistant("")
	want.Parts = []llm.Part{
		llm.Text("a"),
		{Type: llm.PartImage, MIMEType: "image/png", Data: []byte("x"), Signature: "s"},
		llm.Text("b"),
		llm.File("a.pdf", "application/pdf", []byte("y")),
		{Type: llm.PartOther, Metadata: map[string]json.RawMessage{"k": json.RawMessage("1")}},
		{Type: llm.PartReasoning, Text: "hm", Metadata: map[string]json.RawMessage{"k": json.RawMessage("1")}},
	}
	model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { return llm.Reply(want) })
	got, err := llm.Generate(t.Context(), model, hello)
	require.NoError(t, err)
	assert.Equal(t, want.Parts, got.Parts)

	image := llm.Part{Type: llm.PartImage, URL: "https://example.com/cat.png"}
	got, err = llm.Generate(t.Context(), playing([]llm.Chunk{{Kind: llm.ChunkPart, Part: &image}, end("")}, nil), hello)
	require.NoError(t, err, "an image without a text is a reply")
	assert.Equal(t, []llm.Part{image}, got.Parts)
	for name, part := range map[string]*llm.Part{"none": nil, "a text": {Type: llm.PartText, Text: "a"}, "not valid": {Type: llm.PartImage}} {
		_, err := llm.Generate(t.Context(), playing([]llm.Chunk{{Kind: llm.ChunkPart, Part: part}, end("")}, nil), hello)
		require.ErrorIs(t, err, llm.ErrMalformed, name)
	}
}

// TestNullArgumentsAreNone proves that null as the arguments of a tool call is read as {}.
func TestNullArgumentsAreNone(t *testing.T) {
	t.Parallel()
	got, err := llm.Generate(t.Context(), playing([]llm.Chunk{delta(0, "a", "now", "nu"), delta(0, "", "", "ll"), end("")}, nil), hello)
	require.NoError(t, err)
	assert.JSONEq(t, `{}`, string(got.ToolCalls[0].Arguments))
}

// TestStreamCompletesTheTotalOfAUsage proves that every reader of a usage gets a total that counts
// at least the input and the output, and that the model's own value does not change.
func TestStreamCompletesTheTotalOfAUsage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		total, want int64
	}{
		{"no total", 0, 5},
		{"too small", 4, 5},
		{"the sum", 5, 5},
		{"a provider that counts more", 9, 9},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			given := &llm.Usage{Input: 3, Output: 2, Total: test.total}
			var traced, streamed int64
			model := llm.Trace(
				playing([]llm.Chunk{text("a"), {Kind: llm.ChunkEnd, Usage: given}}, nil),
				llm.Hooks{End: func(_ context.Context, e llm.Exchange) { traced = e.Usage().Total }},
			)
			var reply llm.Message
			for chunk, err := range llm.Stream(t.Context(), model, hello, &reply) {
				require.NoError(t, err)
				if chunk.Usage != nil {
					streamed = chunk.Usage.Total
				}
			}
			assert.Equal(t, []int64{test.want, test.want, test.want}, []int64{reply.Usage.Total, streamed, traced})
			assert.Equal(t, test.total, given.Total)
		})
	}
}
