package llm_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// FuzzStream proves that a stream of any chunks results in an error, or in a valid reply with the
// text and the calls of the chunks. The comment of read describes the form of the seeds.
func FuzzStream(f *testing.F) {
	f.Add("t hello\nt world\ne")
	f.Add("r thinking\nt é\nn0add\ni0id\na0{\"a\":\na0 1}\ne")
	f.Add("n0a\nn1b\na1{}\na0[1]\nm1\nt\xc3\nt\xa9")
	f.Add("n0a\ni0x\nn1b\ni1x\ne\nt after")
	f.Add("rhm\nsig\ntso\nn0add\na0{broken\netool_calls")
	f.Add("t0\ne\xa9")
	f.Add("n0add\na0{\"a\":\xff}\nelength")
	f.Add("n0add\na0\"a&b<c>\u2028\"")
	f.Fuzz(func(t *testing.T, script string) {
		chunks := read(script)
		var reply llm.Message
		var said, failed string
		for chunk, err := range llm.Stream(t.Context(), playing(chunks, nil), hello, &reply) {
			if err != nil {
				failed = err.Error()
				continue
			}
			if chunk.Kind == llm.ChunkText {
				said += chunk.Text
			}
		}
		if failed != "" {
			require.Equal(t, llm.Message{}, reply, "after the error %s", failed)
			return
		}
		checkReply(t, reply, chunks, said)
	})
}

// read returns the chunks of a script. Each line is a chunk: the first byte is its kind. For the
// kinds of tool calls, i, n and a, the next byte is the index. The rest is the text.
func read(script string) []llm.Chunk {
	var chunks []llm.Chunk
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		kind, rest := line[0], line[1:]
		index := 0
		if kind == 'i' || kind == 'n' || kind == 'a' {
			if rest == "" {
				continue
			}
			index, rest = int(rest[0])-'0', rest[1:]
		}
		switch kind {
		case 't':
			chunks = append(chunks, text(rest))
		case 'r':
			chunks = append(chunks, thought(rest))
		case 's':
			chunks = append(chunks, llm.Chunk{Kind: llm.ChunkReasoning, Signature: rest})
		case 'i':
			chunks = append(chunks, delta(index, rest, "", ""))
		case 'n':
			chunks = append(chunks, delta(index, "", rest, ""))
		case 'a':
			chunks = append(chunks, delta(index, "", "", rest))
		case 'm':
			chunks = append(chunks, llm.Chunk{Kind: llm.ChunkText, MessageID: rest})
		case 'e':
			chunks = append(chunks, end(llm.StopReason(rest)))
		}
	}
	return chunks
}

// checkReply checks that a reply is valid, equals the result of a JSON round trip, has the text in
// said, and has a call for each index in the chunks.
func checkReply(t *testing.T, reply llm.Message, chunks []llm.Chunk, said string) {
	t.Helper()
	require.Equal(t, said, reply.Text())
	require.NoError(t, reply.Validate())
	calls := map[int]bool{}
	for _, c := range chunks {
		if c.Kind == llm.ChunkToolCall {
			calls[c.ToolCall.Index] = true
		}
	}
	require.Len(t, reply.ToolCalls, len(calls))
	for _, c := range reply.ToolCalls {
		require.True(t, c.Invalid != "" || json.Valid([]byte(c.Text())), "the call %+v is not JSON, and not invalid", c)
	}
	// Encode as a graph does: json.Marshal would escape characters.
	var stored bytes.Buffer
	enc := json.NewEncoder(&stored)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(reply))
	var back llm.Message
	require.NoError(t, json.Unmarshal(stored.Bytes(), &back))
	require.Equal(t, reply, back, "stored as %s", stored.Bytes())
}

// FuzzMessageJSON proves that a JSON round trip does not change a valid message.
func FuzzMessageJSON(f *testing.F) {
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
		first, err := json.Marshal(m)
		require.NoError(t, err, "%+v", m)
		var back llm.Message
		require.NoError(t, json.Unmarshal(first, &back))
		require.NoError(t, back.Validate())
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
		require.Equal(t, m.Text(), back.Text())
	})
}
