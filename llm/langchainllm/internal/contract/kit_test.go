package contract_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// A fake is a server that speaks a provider's wire format.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []asked
}

// asked is a request that a fake received.
type asked struct {
	path   string
	header http.Header
	body   map[string]any
	text   string
}

// newFake returns a server that replies to each request with the next answer. After the last
// answer, it repeats that one.
func newFake(t *testing.T, answers ...http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has left
		}
		a := asked{path: r.URL.Path, header: r.Header, text: string(text)}
		if err := json.Unmarshal(text, &a.body); r.Method != http.MethodGet {
			assert.NoError(t, err, "the request is not JSON: %v: %s", err, text)
		}
		f.mu.Lock()
		n := len(f.asked)
		f.asked = append(f.asked, a)
		f.mu.Unlock()
		r.Body = io.NopCloser(strings.NewReader(string(text)))
		answers[min(n, len(answers)-1)](w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) requests() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func (f *fake) last(t *testing.T) asked {
	t.Helper()
	all := f.requests()
	require.NotEmpty(t, all, "nothing was asked")
	return all[len(all)-1]
}

// status replies with an error.
func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		write(w, body)
	}
}

func write(w http.ResponseWriter, text string) {
	// In some tests the client leaves early.
	_, _ = io.WriteString(w, text)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// sse replies with server-sent events.
func sse(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			write(w, "data: "+event+"\n\n")
		}
	}
}

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		write(w, text)
	}
}

func jsonBody(text string) http.HandlerFunc { return body("application/json", text) }

func toJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

type object = map[string]any

// heard holds the chunks, the message and the error of a reply.
type heard struct {
	chunks  []llm.Chunk
	message llm.Message
	err     error
}

// text returns the text of the chunks.
func (h heard) text() string {
	var b strings.Builder
	for _, c := range h.chunks {
		if c.Kind == llm.ChunkText {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// ask streams a reply, and checks that its text is the text of the chunks.
func ask(t *testing.T, m llm.Model, r llm.Request) heard {
	t.Helper()
	var h heard
	for c, err := range llm.Stream(t.Context(), m, r, &h.message) {
		if err != nil {
			h.err = err
			break
		}
		h.chunks = append(h.chunks, c)
	}
	if h.err == nil {
		assert.Equal(t, h.message.Text(), h.text(), "the reader saw %q, the reply is %q", h.text(), h.message.Text())
	}
	return h
}

// must asks a model. It fails the test after an error.
func must(t *testing.T, m llm.Model, r llm.Request) heard {
	t.Helper()
	h := ask(t, m, r)
	require.NoError(t, h.err)
	return h
}

// failure asks a model, and returns its error. It fails the test unless the error is an llm.Error
// of the given kind.
func failure(t *testing.T, m llm.Model, r llm.Request, kind error) *llm.Error {
	t.Helper()
	h := ask(t, m, r)
	e, ok := errors.AsType[*llm.Error](h.err)
	require.True(t, ok)
	require.ErrorIs(t, h.err, kind)
	return e
}

func calls(m llm.Message) string {
	var all []string
	for _, c := range m.ToolCalls {
		all = append(all, c.Name+string(c.Arguments))
	}
	return strings.Join(all, " ")
}

var hello = llm.Request{Messages: []llm.Message{llm.User("hi")}}

var addTool = llm.ToolSpec{
	Name: "add", Description: "Adds.",
	Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["integer","null"]}},"required":["a"]}`),
}

var nowTool = llm.ToolSpec{Name: "now", Description: "Tells the time.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}

func withTools(r llm.Request) llm.Request {
	r.Tools = []llm.ToolSpec{addTool, nowTool}
	return r
}

func number(v float64) *float64 { return &v }

func call(id, name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

// history returns a conversation with all the parts that langchaingo loses.
func history() llm.Request {
	one, two := call("call_1", "add", `{"a":1}`), call("call_2", "add", `{"a":2}`)
	return withTools(llm.Request{Messages: []llm.Message{
		llm.System("Be brief."),
		llm.User("Add."),
		llm.Assistant("Let me see.", one, two),
		llm.ToolResult(one, "1"),
		llm.ToolError(two, "no such number"),
		llm.System("Be kind."),
		llm.User("And?"),
	}})
}

var _ llm.Model = (*langchainllm.Model)(nil)
