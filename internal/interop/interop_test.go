package interop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// A peer is a LangChain.
type peer struct {
	name    string
	file    string // what it answered when it was recorded
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

// An answer is what a peer makes of Weft's messages, and what it has of its own.
type answer struct {
	Version   string            `json:"version"`
	Loaded    []description     `json:"loaded"`    // Weft's messages, as the peer sees them
	Rewritten json.RawMessage   `json:"rewritten"` // as it writes them
	Own       []json.RawMessage `json:"own"`       // its own messages, as it writes them
	Described []description     `json:"described"` // as it sees them
}

// A description says what a message is, whoever describes it.
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

// conversation has whatever Weft stores.
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

func TestLangChain(t *testing.T) {
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
			if err := json.Unmarshal(text, &a); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			same(t, "it loads of Weft's", a.Loaded, messages)
			same(t, "it writes of Weft's", described(t, a.Rewritten), messages)
			own, err := llm.FromLangChain(marshal(t, a.Own))
			require.NoError(t, err)
			same(t, "Weft loads of its own", a.Described, own)
			equal(t, own, a.Own)
			if !t.Failed() {
				report(t, "%s and Weft: %d messages of Weft's loaded, %d read back; %d of its own loaded, %d written back equal",
					a.Version, len(a.Loaded), len(messages), len(own), len(a.Own))
			}
		})
	}
}

// checkWritten wants the peers to have been asked about what Weft writes now.
func checkWritten(t *testing.T, written []byte) {
	t.Helper()
	const file = "testdata/weft.json"
	switch os.Getenv("WEFT_INTEROP") {
	case "":
		recorded, err := os.ReadFile(file)
		require.NoError(t, err)
		if !bytes.Equal(normal(t, written), normal(t, recorded)) {
			t.Errorf("Weft writes another form than the peers were asked about: run this with WEFT_INTEROP=record\ngot  %s\nwant %s", written, recorded)
		}
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

// ask returns the peer's answer: what was recorded, or a new one.
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
		t.Fatalf("%v: %v\n%s%s", command, err, out, exit.Stderr)
	}
	require.NoError(t, err, "%v", command)
	return out
}

// described reads stored messages with Weft.
func described(t *testing.T, stored []byte) []description {
	t.Helper()
	messages, err := llm.FromLangChain(stored)
	require.NoError(t, err)
	var out []description
	for _, m := range messages {
		out = append(out, describe(t, m))
	}
	return out
}

func same(t *testing.T, what string, got []description, want []llm.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("what %s: got %d messages, want %d", what, len(got), len(want))
		return
	}
	for i, m := range want {
		if d := describe(t, m); !reflect.DeepEqual(got[i], d) {
			t.Errorf("what %s: message %d:\ngot  %s\nwant %s", what, i, marshal(t, got[i]), marshal(t, d))
		}
	}
}

// equal wants messages to be written as they were.
func equal(t *testing.T, messages []llm.Message, want []json.RawMessage) {
	t.Helper()
	written, err := llm.ToLangChain(messages)
	require.NoError(t, err)
	var got []json.RawMessage
	require.NoError(t, json.Unmarshal(written, &got))
	for i := range want {
		if a, b := normal(t, got[i]), normal(t, want[i]); !bytes.Equal(a, b) {
			t.Errorf("message %d is written back\nas    %s\nwhere %s", i, a, b)
		}
	}
}

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
