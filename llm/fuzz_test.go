package llm_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
)

// FuzzStream feeds the assembly with chunks read from a script of lines: the
// first byte says the kind, the next the index of a tool call, the rest is text.
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
			if !reflect.DeepEqual(reply, llm.Message{}) {
				t.Fatalf("a reply beside the error %s: %+v", failed, reply)
			}
			return
		}
		checkReply(t, reply, chunks, said)
	})
}

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

// checkReply compares a reply with what its chunks held.
func checkReply(t *testing.T, reply llm.Message, chunks []llm.Chunk, said string) {
	t.Helper()
	if reply.Text() != said {
		t.Fatalf("said %q, reply %q", said, reply.Text())
	}
	if err := reply.Validate(); err != nil {
		t.Fatal(err)
	}
	calls := map[int]bool{}
	for _, c := range chunks {
		if c.Kind == llm.ChunkToolCall {
			calls[c.ToolCall.Index] = true
		}
	}
	if len(calls) != len(reply.ToolCalls) {
		t.Fatalf("%d indexes, %d calls", len(calls), len(reply.ToolCalls))
	}
	for _, c := range reply.ToolCalls {
		if c.Invalid == "" && !json.Valid([]byte(c.Text())) {
			t.Fatalf("the call %+v is not JSON, and not invalid", c)
		}
	}
	// As a graph stores it: json.Marshal would write the same JSON in other bytes.
	var stored bytes.Buffer
	enc := json.NewEncoder(&stored)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(reply); err != nil {
		t.Fatal(err)
	}
	var back llm.Message
	if err := json.Unmarshal(stored.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, reply) {
		t.Fatalf("stored as %s, read back as %+v", stored.Bytes(), back)
	}
}

// FuzzMessageJSON wants a message that is valid to come back from its JSON.
func FuzzMessageJSON(f *testing.F) {
	for _, m := range conversation() {
		text, err := json.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		var m llm.Message
		if json.Unmarshal(stored, &m) != nil || m.Validate() != nil {
			return
		}
		first, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%v: %+v", err, m)
		}
		var back llm.Message
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatal(err)
		}
		if err := back.Validate(); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != string(first) || back.Text() != m.Text() {
			t.Fatalf("first %s, then %s", first, again)
		}
	})
}
