package interop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// A peer is one of the implementations of LangChain, in JavaScript or Python.
type peer struct {
	name    string
	file    string // the file with the recorded answer
	install [][]string
	run     []string
}

var peers = []peer{
	{
		"JavaScript", "testdata/javascript.json",
		[][]string{{"npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "@langchain/core"}},
		[]string{"node", "peer.mjs"},
	},
	{
		"Python", "testdata/python.json",
		[][]string{{"python3", "-m", "venv", "venv"}, {"venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", "langchain-core"}},
		[]string{"venv/bin/python", "peer.py"},
	},
}

// An answer is the output of the program of a peer.
type answer struct {
	Version   string            `json:"version"`
	Loaded    []description     `json:"loaded"`    // the messages of Weft, described by the peer
	Rewritten json.RawMessage   `json:"rewritten"` // the messages of Weft, written by the peer
	Own       []json.RawMessage `json:"own"`       // messages of the peer, written by the peer
	Described []description     `json:"described"` // messages of the peer, described by the peer
}

// A description has the properties of a message that must be equal in Weft and the peers.
type description struct {
	Role    llm.Role   `json:"role"`
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Text    string     `json:"text"`
	Images  int        `json:"images"`
	Files   int        `json:"files"`
	Calls   []toolCall `json:"calls"`
	Invalid []toolCall `json:"invalid"`
	Answers string     `json:"answers"`
	Failed  bool       `json:"failed"`
	Usage   *usage     `json:"usage"`
}

type toolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args any    `json:"args"`
}

type usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	Total      int64 `json:"total"`
	Cached     int64 `json:"cached"`
	CacheWrite int64 `json:"cache_write"`
	Reasoning  int64 `json:"reasoning"`
}

func describe(t *testing.T, m llm.Message) description {
	t.Helper()
	d := description{
		Role: m.Role, ID: m.ID, Name: m.Name, Text: m.Text(), Calls: []toolCall{}, Invalid: []toolCall{},
		Answers: m.ToolCallID, Failed: m.Status == llm.StatusError,
	}
	for _, p := range m.Parts {
		switch p.Type {
		case llm.PartImage:
			d.Images++
		case llm.PartFile:
			d.Files++
		}
	}
	for _, c := range m.ToolCalls {
		if c.Invalid != "" {
			d.Invalid = append(d.Invalid, toolCall{c.ID, c.Name, c.Text()})
			continue
		}
		var args any
		require.NoError(t, json.Unmarshal([]byte(c.Text()), &args))
		d.Calls = append(d.Calls, toolCall{c.ID, c.Name, args})
	}
	if m.Usage != nil {
		u := usage(*m.Usage)
		d.Usage = &u
	}
	return d
}

// conversation returns messages with every property that Weft stores.
func conversation() []llm.Message {
	call := llm.ToolCall{ID: "call_1", Name: "weather", Arguments: json.RawMessage(`{"city":"Zürich","days":3}`)}
	now := llm.ToolCall{ID: "call_2", Name: "now"}
	broken := llm.InvalidCall("call_3", "f", `{"a": `, "unexpected end of JSON input")
	question := llm.User("What is this? <b>&</b> ☀️ \x00",
		llm.Image("image/png", []byte("\x89PNG\r\n\x1a\n")),
		llm.Part{Type: llm.PartImage, URL: "https://example.com/a.png", Detail: "low"},
		llm.File("a.pdf", "application/pdf", []byte("%PDF")))
	question.ID, question.Name = "m2", "ann"
	turn := llm.Assistant("Let me look.", call, now, broken)
	turn.ID, turn.StopReason = "m3", llm.StopToolCalls
	turn.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: "They want the weather.", Signature: "c2ln"}}, turn.Parts...)
	turn.Usage = &llm.Usage{Input: 120, Output: 24, Total: 144, Cached: 100, CacheWrite: 4, Reasoning: 8}
	turn.Metadata = map[string]json.RawMessage{"model_name": json.RawMessage(`"m-1"`)}
	signed := llm.Assistant("", llm.ToolCall{ID: "call_4", Name: "now", Signature: "c2ln"})
	noted := llm.User("")
	noted.Parts = []llm.Part{{Type: llm.PartText, Text: "cached", Metadata: map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}}}
	end := llm.Assistant("It is noon.")
	end.StopReason = llm.StopEnd
	return []llm.Message{
		llm.System("Be brief."), question, turn, llm.ToolResult(call, `{"sky":"clear"}`), llm.ToolResult(now, "noon"),
		llm.ToolError(broken, "not JSON"), signed, llm.ToolResult(signed.ToolCalls[0], ""), noted, end, llm.Assistant(""), llm.User(""),
	}
}

func TestLangChainAndWeftReadEachOther(t *testing.T) {
	t.Parallel()
	messages := conversation()
	written, err := llm.ToLangChain(messages)
	require.NoError(t, err)
	checkWritten(t, written)
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			text := p.ask(t, written)
			var a answer
			require.NoError(t, json.Unmarshal(text, &a), "%s", text)
			assert.Equal(t, describeAll(t, messages), a.Loaded, "messages of Weft, loaded by the peer")
			assert.Equal(t, describeAll(t, messages), described(t, a.Rewritten), "messages of Weft, written by the peer")
			own, err := llm.FromLangChain(marshal(t, a.Own))
			require.NoError(t, err)
			assert.Equal(t, a.Described, describeAll(t, own), "messages of the peer, loaded by Weft")
			checkRewritten(t, own, a.Own)
			if !t.Failed() {
				report(t, "%s: it loaded %d messages of Weft, Weft read %d back; Weft loaded %d messages of it and wrote %d back",
					a.Version, len(a.Loaded), len(messages), len(own), len(a.Own))
			}
		})
	}
}

// checkWritten asserts that Weft still writes its messages in the recorded form. With
// WEFT_INTEROP=record, it records the form instead.
func checkWritten(t *testing.T, written []byte) {
	t.Helper()
	const file = "testdata/weft.json"
	switch os.Getenv("WEFT_INTEROP") {
	case "":
		recorded, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.JSONEq(t, string(recorded), string(written), "the form of Weft's messages has changed: run this test with WEFT_INTEROP=record")
	case "record":
		var b bytes.Buffer
		require.NoError(t, json.Indent(&b, written, "", " "))
		require.NoError(t, os.WriteFile(file, append(b.Bytes(), '\n'), 0o644))
	}
}

func report(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	if os.Getenv("WEFT_INTEROP") != "" {
		fmt.Fprintf(os.Stderr, "interop: "+format+"\n", args...)
	}
}

// ask returns the answer of the peer. It runs the peer if WEFT_INTEROP is set. Otherwise it
// reads the recorded answer.
func (p peer) ask(t *testing.T, written []byte) []byte {
	t.Helper()
	mode := os.Getenv("WEFT_INTEROP")
	if mode == "" {
		text, err := os.ReadFile(p.file)
		require.NoError(t, err)
		return text
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "weft.json"), written, 0o600))
	program, err := os.ReadFile(p.run[1])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, p.run[1]), program, 0o600))
	for _, command := range p.install {
		execute(t, dir, command)
	}
	text := execute(t, dir, append(p.run, "weft.json"))
	if mode == "record" {
		require.NoError(t, os.WriteFile(p.file, append(text, '\n'), 0o644))
	}
	return text
}

func execute(t *testing.T, dir string, command []string) []byte {
	t.Helper()
	name := command[0]
	if local := filepath.Join(dir, name); filepath.Dir(name) != "." {
		name = local
	}
	cmd := exec.CommandContext(t.Context(), name, command[1:]...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		require.NoError(t, err, "%v:\n%s%s", command, out, exit.Stderr)
	}
	require.NoError(t, err, "%v", command)
	return out
}

// described decodes stored messages with Weft and returns their descriptions.
func described(t *testing.T, stored []byte) []description {
	t.Helper()
	messages, err := llm.FromLangChain(stored)
	require.NoError(t, err)
	return describeAll(t, messages)
}

func describeAll(t *testing.T, messages []llm.Message) []description {
	t.Helper()
	var all []description
	for _, m := range messages {
		all = append(all, describe(t, m))
	}
	return all
}

// checkRewritten asserts that Weft writes messages in the same form as the peer.
func checkRewritten(t *testing.T, messages []llm.Message, want []json.RawMessage) {
	t.Helper()
	written, err := llm.ToLangChain(messages)
	require.NoError(t, err)
	var got []json.RawMessage
	require.NoError(t, json.Unmarshal(written, &got))
	for i := range want {
		assert.Equal(t, string(normal(t, want[i])), string(normal(t, got[i])), "message %d", i)
	}
}

// normal returns the JSON text with sorted keys. It does not change numbers.
func normal(t *testing.T, text []byte) []byte {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v))
	return marshal(t, v)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return text
}
