package wire_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var hello = llm.Request{
	Messages: []llm.Message{llm.User("hi")},
	Tools:    []llm.ToolSpec{{Name: "f"}, {Name: "g"}, {Name: "get"}, {Name: "get_weather"}},
}

func dialectOf(path string) wire.Dialect {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return wire.Anthropic
	case strings.Contains(path, "enerateContent"):
		return wire.Gemini
	}
	return wire.OpenAI
}

// A reply has the chunks and facts that the transport read from a reply.
type reply struct {
	chunks []llm.Chunk
	facts  wire.Facts
	stub   string // the body that the library reads
}

// text returns the text, or the reasoning, of the chunks.
func (r reply) text(kind llm.ChunkKind) string {
	var b strings.Builder
	for _, c := range r.chunks {
		if c.Kind == kind {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// calls returns the tool calls as name(arguments), in their order.
func (r reply) calls() string {
	var all []string
	for _, c := range r.chunks {
		if c.Kind != llm.ChunkToolCall {
			continue
		}
		d := c.ToolCall
		for len(all) <= d.Index {
			all = append(all, "")
		}
		if d.Name != "" {
			all[d.Index] += d.Name + " "
		}
		all[d.Index] += d.Arguments
	}
	return strings.Join(all, "; ")
}

// send sends a request to an API that replies with text.
func send(t testing.TB, path, contentType, text string) reply {
	t.Helper()
	var r reply
	call := &wire.Call{Dialect: dialectOf(path), Request: hello, Emit: func(c llm.Chunk) error {
		r.chunks = append(r.chunks, c)
		return nil
	}}
	body := `{"messages":[],"contents":[],"stream":` + strconv.FormatBool(contentType != "application/json") + `}`
	req, err := http.NewRequestWithContext(wire.With(t.Context(), call), http.MethodPost, "http://api"+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer a-long-key")
	resp, err := wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {contentType}},
			// Read one byte at a time, since the result must not depend on how the bytes arrive.
			Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(text))),
		}, nil
	}), req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	r.stub, r.facts = string(data), call.Facts()
	return r
}

// TestOtherRequestsPassUnchanged proves that the transport changes only requests that have a
// Call and a form that it knows.
func TestOtherRequestsPassUnchanged(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api/chat/completions", strings.NewReader(`{"temperature":0}`))
	require.NoError(t, err)
	_, err = wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		assert.Same(t, req, r)
		return &http.Response{StatusCode: http.StatusOK, Request: r, Body: http.NoBody}, nil
	}), req)
	require.NoError(t, err)
	r := send(t, "/embeddings", "application/json", `{"data":[]}`)
	assert.True(t, r.facts.Seen)
	assert.False(t, r.facts.Decoded)
	assert.Equal(t, `{"data":[]}`, r.stub)
}

// events writes each text as a server-sent event.
func events(texts ...string) string { return "data: " + strings.Join(texts, "\n\ndata: ") + "\n\n" }

func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

func calling(pieces string) string { return delta(`{"tool_calls":[` + pieces + `]}`) }

const (
	stopped = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	toCall  = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

// TestToolCallsOfAnyServer proves that the pieces of tool calls are assigned to the right calls,
// for every way in which servers mark them.
func TestToolCallsOfAnyServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		events     []string
	}{
		{"no index", `f {"x":1}; g {"y":2}`, []string{
			calling(`{"id":"a","function":{"name":"f","arguments":{"x":1}}}`),
			calling(`{"id":"b","function":{"name":"g","arguments":"{\"y\""}}`), calling(`{"function":{"arguments":":2}"}},null`),
		}},
		{"no index and no ids", `f {}; f {"z":1}`, []string{
			calling(`{"function":{"name":"f","arguments":"{}"}}`), calling(`{"function":{"name":"f","arguments":"{\"z\":1}"}}`),
		}},
		{"no index and no ids, in one event", `f {}; g `, []string{
			calling(`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":""}}`),
		}},
		{"no ids, arguments in pieces", `f {"x":1}; g {"y":2}`, []string{
			calling(`{"function":{"name":"f","arguments":"{\"x\""}}`), calling(`{"function":{"arguments":":1}"}}`),
			calling(`{"function":{"name":"g","arguments":"{\"y\""}}`), calling(`{"function":{"arguments":":2}"}}`),
		}},
		{"one index and no ids", `f {}; f {"z":1}`, []string{
			calling(`{"index":0,"function":{"name":"f","arguments":"{}"}}`), calling(`{"index":0,"function":{"name":"f","arguments":"{\"z\":1}"}}`),
		}},
		{"one index and no ids, in one event", `f {}; g {}`, []string{
			calling(`{"index":0,"id":"","function":{"name":"f","arguments":"{}"}},{"index":0,"id":null,"function":{"name":"g","arguments":"{}"}}`),
		}},
		{"one index and no arguments", `f ; g `, []string{
			calling(`{"index":0,"function":{"name":"f"}}`), calling(`{"index":0,"function":{"name":"g"}}`),
		}},
		{"one index and other ids", `f {}; f {}`, []string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), calling(`{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}`),
		}},
		{"two indexes and one id", `f {}; f {"z":1}`, []string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), calling(`{"index":1,"id":"a","function":{"name":"f","arguments":"{\"z\":1}"}}`),
		}},
		{"another id with each piece", `f {"k":5}`, []string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"k\":"}}`), calling(`{"index":0,"id":"b","function":{"arguments":"5}"}}`),
		}},
		{"the id and the name with each piece", `f {"k":5}`, []string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"k\":"}}`), calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"5}"}}`),
		}},
		{"the name in pieces", `get_weather {"k":5}`, []string{
			calling(`{"index":0,"id":"a","function":{"name":"get"}}`), calling(`{"index":0,"function":{"name":"_wea"}}`),
			calling(`{"index":0,"function":{"name":"ther","arguments":"{\"k\":5}"}}`),
		}},
		{"the name of no tool, in pieces", `unknown {}`, []string{
			calling(`{"index":0,"id":"a","function":{"name":"unk"}}`), calling(`{"index":0,"function":{"name":"nown","arguments":"{}"}}`),
		}},
		{"a name that begins another", `get `, []string{calling(`{"index":0,"id":"a","function":{"name":"get"}}`)}},
		{"interleaved", `f {"x":1}; g {"y":2}`, []string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`), calling(`{"index":1,"id":"b","function":{"name":"g","arguments":""}}`),
			calling(`{"index":0,"function":{"arguments":"{\"x\""}}`), calling(`{"index":1,"function":{"arguments":"{\"y\""}}`),
			calling(`{"index":0,"function":{"arguments":":1}"}}`), calling(`{"index":1,"function":{"arguments":":2}"}}`),
		}},
		{"an id that is a number", `f {}`, []string{calling(`{"index":0,"id":7,"function":{"name":"f","arguments":"{}"}}`)}},
		{"the old form", `f {"x":1}`, []string{delta(`{"function_call":{"name":"f","arguments":"{\"x\""}}`), delta(`{"function_call":{"arguments":":1}"}}`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := send(t, "/v1/chat/completions", "text/event-stream", events(append(test.events, toCall, "[DONE]")...))
			require.Nil(t, r.facts.Failure)
			assert.Equal(t, test.want, r.calls())
			ids := map[string]bool{}
			for _, c := range r.chunks {
				if d := c.ToolCall; d.Name != "" {
					assert.NotEmpty(t, d.ID, "the first piece of a call has its id")
					assert.False(t, ids[d.ID], "id %s is used twice", d.ID)
					ids[d.ID] = true
				}
			}
		})
	}
}

// TestToolCallsStreamAsTheyArrive proves that a piece of a call is passed on as soon as its event
// is read, with the index, id and name of the call.
func TestToolCallsStreamAsTheyArrive(t *testing.T) {
	t.Parallel()
	r := send(t, "/v1/chat/completions", "text/event-stream", events(
		calling(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`), delta(`{"content":"and "}`),
		calling(`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}`),
		calling(`{"index":0,"function":{"arguments":"{}"}}`), calling(`{"index":1,"function":{"arguments":":2}"}}`), toCall, "[DONE]"))
	want := []llm.Chunk{
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Index: 0, ID: "a", Name: "f"}},
		{Kind: llm.ChunkText, Text: "and "},
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Index: 1, ID: "b", Name: "g", Arguments: `{"y"`}},
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Index: 0, Arguments: `{}`}},
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Index: 1, Arguments: `:2}`}},
	}
	assert.Equal(t, want, r.chunks)
}

// TestThinkTags proves that reasoning between tags at the beginning of a reply is reasoning,
// however the text is divided, and that tags at any other place are text.
func TestThinkTags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, give, reasoning, text, stop string }{
		{"tags", "<think>hm</think>ok", "hm", "ok", "stop"},
		{"space around them", "\n<think>\nhm\n</think>\n\nok\n", "hm\n", "ok\n", "stop"},
		{"no reasoning", "<think>\n\n</think>\n\nok", "", "ok", "stop"},
		{"almost a closing tag", "<think>a < b </thin c</think>ok", "a < b </thin c", "ok", "stop"},
		{"in an answer", "Write `<think>` and `</think>`.", "", "Write `<think>` and `</think>`.", "stop"},
		{"in code", "```\n<think>hm</think>\n```", "", "```\n<think>hm</think>\n```", "stop"},
		{"after the reasoning", "<think>hm</think>Write <think>x</think>.", "hm", "Write <think>x</think>.", "stop"},
		{"almost an opening tag", "<thin air", "", "<thin air", "stop"},
		{"a part of an opening tag", "<thi", "", "<thi", "stop"},
		{"no closing tag in a reply that a limit cut off", "<think>hm </th", "hm </th", "", "length"},
		{"no closing tag in a whole answer", "<think> is a tag.", "is a tag.", "<think>is a tag.", "stop"},
		{"space only", " \n", "", " \n", "stop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(test.give); size++ {
				var all []string
				for text := range slices.Chunk([]byte(test.give), size) {
					content, err := json.Marshal(string(text))
					require.NoError(t, err)
					all = append(all, delta(`{"content":`+string(content)+`}`))
				}
				all = append(all, strings.ReplaceAll(stopped, "stop", test.stop), "[DONE]")
				r := send(t, "/v1/chat/completions", "text/event-stream", events(all...))
				require.Equal(t, test.reasoning, r.text(llm.ChunkReasoning), "in pieces of %d", size)
				require.Equal(t, test.text, r.text(llm.ChunkText), "in pieces of %d", size)
			}
		})
	}
}

// TestReasoningFields proves that tags are text in a reply with a field for reasoning, and that
// reasoning among the parts of a content is read.
func TestReasoningFields(t *testing.T) {
	t.Parallel()
	r := send(t, "/v1/chat/completions", "text/event-stream", events(delta(`{"reasoning":"hm"}`), delta(`{"content":"<think>x</think>"}`), stopped))
	assert.Equal(t, "hm", r.text(llm.ChunkReasoning))
	assert.Equal(t, "<think>x</think>", r.text(llm.ChunkText))
	r = send(t, "/v1/chat/completions", "text/event-stream", events(
		delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), delta(`{"content":[{"type":"text","text":"ok"}]}`), stopped))
	assert.Equal(t, "hm", r.text(llm.ChunkReasoning))
	assert.Equal(t, "ok", r.text(llm.ChunkText))
}

func TestErrorsInReplies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, contentType, text string
		want                    wire.Failure
	}{
		{"/chat/completions", "application/json", `{"error":{"message":"busy","code":503,"type":"x"}}`, wire.Failure{Code: 503, Type: "x", Message: "busy"}},
		{"/chat/completions", "text/event-stream", `data: {"error":"busy"}`, wire.Failure{Message: "busy"}},
		{"/chat/completions", "text/event-stream", `data: {"error":{"code":"rate_limit_exceeded"}}`, wire.Failure{Type: "rate_limit_exceeded", Message: "an error without a message"}},
		{"/chat/completions", "application/json", `{"object":"error","message":"too long","type":"BadRequestError","code":400}`, wire.Failure{Code: 400, Type: "BadRequestError", Message: "too long"}},
		{"/chat/completions", "text/event-stream", `data: {"object":"error","message":"died","code":500}` + "\n\ndata: [DONE]", wire.Failure{Code: 500, Message: "died"}},
		{"/chat/completions", "text/event-stream", `error: {"message":"died","code":500}` + "\n\n", wire.Failure{Code: 500, Message: "died"}},
		{"/chat/completions", "text/event-stream", `data: {"error":{"message":"a-long-key is wrong","type":"a-long-key"}}`, wire.Failure{Type: "[key]", Message: "[key] is wrong"}},
		{"/chat/completions", "text/event-stream", `data: {`, wire.Failure{Message: "an event of the stream cannot be read", Kind: llm.ErrTransport}},
		{"/messages", "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, wire.Failure{Type: "overloaded_error", Message: "Overloaded"}},
		{"/messages", "text/event-stream", `data: nonsense`, wire.Failure{Message: "an event of the stream cannot be read", Kind: llm.ErrTransport}},
		{"/m:generateContent", "application/json", `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}`, wire.Failure{Code: 429, Type: "RESOURCE_EXHAUSTED", Message: "quota"}},
		{"/m:streamGenerateContent", "application/json", `[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]`, wire.Failure{Code: 429, Type: "RESOURCE_EXHAUSTED", Message: "quota"}},
		{"/m:streamGenerateContent", "application/json", `"x"`, wire.Failure{Message: "the stream cannot be read", Kind: llm.ErrTransport}},
		{"/m:streamGenerateContent", "application/json", `[{"a"]`, wire.Failure{Message: "the stream cannot be read", Kind: llm.ErrTransport}},
	}
	for _, test := range tests {
		t.Run(test.path+" "+test.text, func(t *testing.T) {
			t.Parallel()
			r := send(t, test.path, test.contentType, test.text)
			assert.Equal(t, &test.want, r.facts.Failure)
			assert.False(t, r.facts.Complete)
		})
	}
}

// refusing sends a request to an API that replies with a status.
func refusing(t *testing.T, path string, status int, text string) wire.Facts {
	t.Helper()
	call := &wire.Call{Dialect: dialectOf(path), Request: hello}
	req, err := http.NewRequestWithContext(wire.With(t.Context(), call), http.MethodPost, "http://api"+path, strings.NewReader(`{"messages":[],"contents":[]}`))
	require.NoError(t, err)
	resp, err := wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Request: r, Body: io.NopCloser(strings.NewReader(text))}, nil
	}), req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return call.Facts()
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	quota := `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x"},{"retryDelay":"34s"}]}}`
	tests := []struct {
		name, path string
		status     int
		text       string
		want       *wire.Failure
	}{
		{"OpenAI", "/chat/completions", 400, `{"error":{"message":"m","type":"invalid_request_error","param":"x","code":"context_length_exceeded"}}`, &wire.Failure{Type: "context_length_exceeded", Message: "m"}},
		{"vLLM", "/chat/completions", 400, `{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}`, &wire.Failure{Code: 400, Type: "BadRequestError", Message: "m"}},
		{"Ollama", "/chat/completions", 404, `{"error":"m"}`, &wire.Failure{Message: "m"}},
		{"Mistral", "/chat/completions", 429, `{"message":"m","type":"service_tier_capacity_exceeded","code":"3505"}`, &wire.Failure{Type: "service_tier_capacity_exceeded", Message: "m"}},
		{"a list of details", "/chat/completions", 422, `{"detail":[{"msg":"m"}]}`, &wire.Failure{Message: `[{"msg":"m"}]`}},
		{"a detail", "/chat/completions", 404, `{"detail":"Not Found"}`, &wire.Failure{Message: "Not Found"}},
		{"Anthropic", "/messages", 529, `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, &wire.Failure{Type: "overloaded_error", Message: "m"}},
		{"Gemini", "/m:generateContent", 429, quota, &wire.Failure{Code: 429, Type: "RESOURCE_EXHAUSTED", Message: "quota", RetryAfter: 34 * time.Second}},
		{"Gemini, in a list", "/m:streamGenerateContent", 429, "[" + quota + "]", &wire.Failure{Code: 429, Type: "RESOURCE_EXHAUSTED", Message: "quota", RetryAfter: 34 * time.Second}},
		{"a text", "/chat/completions", 502, "upstream timed out\n", &wire.Failure{Message: "upstream timed out"}},
		{"a page", "/chat/completions", 502, "<html>Bad Gateway</html>", nil},
		{"other JSON", "/chat/completions", 500, `{"a":1}`, nil},
		{"nothing", "/chat/completions", 500, "", nil},
		{"another API", "/model/x/invoke", 500, `{"message":"m"}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			facts := refusing(t, test.path, test.status, test.text)
			assert.Equal(t, test.want, facts.Failure)
			assert.Equal(t, test.status, facts.Status)
		})
	}
}

// TestOddStreams proves that the transport reads the variants of OpenAI's form that servers
// write.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	delta := func(d, more string) string { return `data: {"choices":[{"delta":` + d + more + `}]}` + "\r\n\r\n" }
	const end = `,"finish_reason":"stop"`
	for _, test := range []struct{ name, give, text, stop string }{
		{"a mark at the beginning", "\ufeff" + delta(`{"content":"hi"}`, end), "hi", "stop"},
		{"a field of another kind", delta(`{"content":"hi","reasoning":{"a":1},"tool_calls":{}}`, end), "hi", "stop"},
		{"nulls", delta(`{"content":"hi","reasoning":null,"tool_calls":null,"refusal":null}`, `,"finish_reason":null`) + delta("null", end), "hi", "stop"},
		{"a refusal", delta(`{"content":null,"refusal":"I will"}`, "") + delta(`{"refusal":" not"}`, "") + delta("{}", end), "I will not", "refusal"},
		{"a refusal, whole", `{"choices":[{"message":{"content":null,"refusal":"I will not"},"finish_reason":"stop"}]}`, "I will not", "refusal"},
		{"whole, with a mark", "\ufeff" + `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, "hi", "stop"},
		{"another choice", `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + delta(`{"content":"hi"}`, end), "hi", "stop"},
		{"comments, and text after the end", ": a comment\nevent: x\ndata:\n" + delta(`{"content":"hi"}`, end) + "data: [DONE]\n\n" + delta(`{"content":"no"}`, ""), "hi", "stop"},
		{"a stream that calls itself a text", delta(`{"content":"hi"}`, end), "hi", "stop"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := send(t, "/chat/completions", "text/plain", test.give)
			assert.True(t, r.facts.Complete)
			assert.Nil(t, r.facts.Failure)
			assert.Equal(t, test.stop, r.facts.Stop)
			assert.Equal(t, test.text, r.text(llm.ChunkText))
		})
	}
}

// TestServerThatDoesNotStream proves that a whole reply to a request for a stream is read.
func TestServerThatDoesNotStream(t *testing.T) {
	t.Parallel()
	for path, text := range map[string]string{
		"/chat/completions": `  {"choices":[{"message":{"content":"a","reasoning":"hm","tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1}}`,
		"/messages": `{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"f","input":{}},
			{"type":"tool_use","id":"2","name":"g","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`,
		"/m:generateContent": `{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"},{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}}]},"finishReason":"STOP"}],
			"usageMetadata":{"promptTokenCount":1}}`,
	} {
		for _, contentType := range []string{"text/plain", "application/json"} {
			r := send(t, path, contentType, text)
			require.Nil(t, r.facts.Failure, path)
			assert.True(t, r.facts.Complete, path)
			assert.Equal(t, "a", r.text(llm.ChunkText), path)
			assert.Equal(t, "hm", r.text(llm.ChunkReasoning), path)
			assert.Equal(t, "f ; g ", strings.ReplaceAll(r.calls(), "{}", ""), path)
			assert.Equal(t, int64(1), r.facts.Usage.Input, path)
		}
	}
	assert.NotNil(t, send(t, "/messages", "text/plain", `{"a":1}`).facts.Failure)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	call := &wire.Call{Request: hello}
	req, err := http.NewRequestWithContext(wire.With(t.Context(), call), http.MethodPost, "http://api/model/x/invoke", strings.NewReader(`{}`))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer a-long-key")
	resp, err := wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusTooManyRequests, Request: r, Header: http.Header{"Retry-After": {"2.5"}},
			Body: io.NopCloser(strings.NewReader("not with a-long-key, friend")),
		}, nil
	}), req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "not with [key], friend", string(text))
	assert.Equal(t, 2500*time.Millisecond, call.Facts().RetryAfter)
	assert.Equal(t, 429, call.Facts().Status)
}

func TestSimpleSchema(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, want string }{
		{`{"type":"object"}`, `{"properties":{},"type":"object"}`},
		{
			`{"type":"object","properties":{"a":{"type":["string","null"],"description":"d"}},"required":["a"],"additionalProperties":false}`,
			`{"properties":{"a":{"description":"d","nullable":true,"type":"string"}},"required":["a"],"type":"object"}`,
		},
		{
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"oneOf":[{"type":"integer"},{"type":"string"}]},"c":{"type":["integer","string"]}}}`,
			`{"properties":{"a":{"nullable":true,"type":"integer"},"b":{"anyOf":[{"type":"integer"},{"type":"string"}]},"c":{"anyOf":[{"type":"integer"},{"type":"string"}]}},"type":"object"}`,
		},
		{
			`{"type":"object","properties":{"a":{"enum":["x",null]},"b":{"const":"y"},"c":{"type":"integer","enum":[1,2]},"d":true,"e":{"type":"array"}}}`,
			`{"properties":{"a":{"enum":["x"],"nullable":true,"type":"string"},"b":{"enum":["y"],"type":"string"},"c":{"type":"integer"},"d":{"type":"string"},"e":{"items":{"type":"string"},"type":"array"}},"type":"object"}`,
		},
		{
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/n~1m","description":"own"},"x":{"$ref":"http://elsewhere"}},"$defs":{"n/m":{"type":"object","properties":{"next":{"$ref":"#/$defs/n~1m"}}}}}`,
			`{"properties":{"a":{"description":"own","properties":{"next":{"type":"object"}},"type":"object"},"x":{"type":"object"}},"type":"object"}`,
		},
	}
	for _, test := range tests {
		got, err := json.Marshal(wire.SimpleSchema(json.RawMessage(test.schema)))
		require.NoError(t, err)
		assert.Equal(t, test.want, string(got), test.schema)
	}
}

// FuzzStream proves that any reply is read without a panic, that the library reads a stub without
// an error, and that a reply is not both complete and failed.
func FuzzStream(f *testing.F) {
	f.Add(0, `data: {"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n")
	f.Add(1, `data: {"type":"message_start","message":{}}`+"\n"+`data: {"type":"content_block_start","index":-1,"content_block":{"type":"text","text":"a"}}`+"\n"+
		`data: {"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"b"}}`+"\n"+`data: {"type":"content_block_stop","index":-1}`+"\n"+`data: {"type":"message_stop"}`)
	f.Add(2, `[{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f"}}]},"finishReason":1}]},{}]`)
	f.Fuzz(func(t *testing.T, which int, text string) {
		paths := []string{"/chat/completions", "/messages", "/m:streamGenerateContent"}
		path := paths[uint(which)%3]
		r := send(t, path, "text/event-stream", text)
		if r.facts.Complete && path != "/chat/completions" {
			assert.Nil(t, r.facts.Failure)
		}
		for _, c := range r.chunks {
			assert.GreaterOrEqual(t, c.ToolCall.Index, 0)
		}
	})
}

// FuzzSimpleSchema proves that the result for any schema is an object.
func FuzzSimpleSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/a"},"c":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		got := wire.SimpleSchema(json.RawMessage(schema))
		assert.NotNil(t, got)
		assert.False(t, len(got) == 0 && strings.Contains(schema, `"type":"object"`), "got an empty schema")
	})
}
