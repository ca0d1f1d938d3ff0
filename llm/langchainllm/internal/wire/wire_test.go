package wire_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var hello = llm.Request{Messages: []llm.Message{llm.User("hi")}}

// send sends a request to an API that answers with text, and returns what the
// library reads and what the wire told.
func send(t testing.TB, path, contentType, text string) (string, wire.Facts) {
	t.Helper()
	call := &wire.Call{Request: hello, Signed: func(string) {}}
	body := `{"messages":[],"contents":[],"stream":` + strconv.FormatBool(contentType != "application/json") + `}`
	req, err := http.NewRequestWithContext(wire.With(t.Context(), call), http.MethodPost, "http://api"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer a-long-key")
	resp, err := wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {contentType}},
			// One byte at a time: nothing depends on how the bytes arrive.
			Body: io.NopCloser(iotest.OneByteReader(strings.NewReader(text))),
		}, nil
	}), req)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("the library would read %v", err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(data), call.Facts()
}

func TestPassesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api/chat/completions", strings.NewReader(`{"temperature":0}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		if r != req {
			t.Error("the request is another")
		}
		return &http.Response{StatusCode: http.StatusOK, Request: r, Body: http.NoBody}, nil
	}), req)
	if err != nil {
		t.Fatal(err)
	}
	_, facts := send(t, "/embeddings", "application/json", `{"data":[]}`)
	if !facts.Seen || facts.Understood {
		t.Errorf("got %+v", facts)
	}
}

func TestCallsWithoutIndex(t *testing.T) {
	t.Parallel()
	delta := func(d string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + d + `]}}]}` + "\n\n"
	}
	text := delta(`{"id":"a","function":{"name":"f","arguments":{"x":1}}}`) +
		delta(`{"id":"b","function":{"name":"g","arguments":"{\"y\""}}`) +
		delta(`{"function":{"arguments":":2}"}},null`) +
		": a comment\nevent: x\ndata:\n" + `data: {"choices":[{"index":1,"delta":{"content":"of another choice"}}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"parts"}]},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\ndata: {\"after\":1}\n\n"
	got, facts := send(t, "/v1/chat/completions", "text/event-stream; charset=utf-8", text)
	if !facts.Complete || facts.Stop != "tool_calls" || facts.Failure != nil {
		t.Errorf("got %+v", facts)
	}
	for _, want := range []string{`"arguments":"{\"x\":1}","name":"f"`, `"arguments":"{\"y\":2}","name":"g"`, `"content":"parts"`} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%s is not once in %s", want, got)
		}
	}
	if strings.Contains(got, "another") || strings.Contains(got, "after") {
		t.Errorf("got %s", got)
	}
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
		{"/chat/completions", "text/event-stream", `data: {`, wire.Failure{Message: "an event of the stream can not be read", Kind: llm.ErrTransport}},
		{"/messages", "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, wire.Failure{Type: "overloaded_error", Message: "Overloaded"}},
		{"/messages", "text/event-stream", `data: nonsense`, wire.Failure{Message: "an event of the stream can not be read", Kind: llm.ErrTransport}},
		{"/m:generateContent", "application/json", `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}`, wire.Failure{Code: 429, Type: "RESOURCE_EXHAUSTED", Message: "quota"}},
		{"/m:streamGenerateContent", "application/json", `[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]`, wire.Failure{Code: 429, Type: "RESOURCE_EXHAUSTED", Message: "quota"}},
		{"/m:streamGenerateContent", "application/json", `"x"`, wire.Failure{Message: "the stream can not be read", Kind: llm.ErrTransport}},
		{"/m:streamGenerateContent", "application/json", `[{"a"]`, wire.Failure{Message: "the stream can not be read", Kind: llm.ErrTransport}},
	}
	for _, test := range tests {
		t.Run(test.path+" "+test.text, func(t *testing.T) {
			t.Parallel()
			if _, facts := send(t, test.path, test.contentType, test.text); facts.Failure == nil || *facts.Failure != test.want || facts.Complete {
				t.Errorf("got %+v, want %+v", facts.Failure, test.want)
			}
		})
	}
}

// refusing sends a request to an API that answers with a status.
func refusing(t *testing.T, path string, status int, text string) wire.Facts {
	t.Helper()
	call := &wire.Call{Request: hello}
	req, err := http.NewRequestWithContext(wire.With(t.Context(), call), http.MethodPost, "http://api"+path, strings.NewReader(`{"messages":[],"contents":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Request: r, Body: io.NopCloser(strings.NewReader(text))}, nil
	}), req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
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
			if !reflect.DeepEqual(facts.Failure, test.want) || facts.Status != test.status {
				t.Errorf("got %+v of status %d, want %+v", facts.Failure, facts.Status, test.want)
			}
		})
	}
}

// TestOddStreams has what servers make of OpenAI's form.
func TestOddStreams(t *testing.T) {
	t.Parallel()
	delta := func(d, more string) string { return `data: {"choices":[{"delta":` + d + more + `}]}` + "\r\n\r\n" }
	const end = `,"finish_reason":"stop"`
	call := func(index, id, name string) string {
		return `{` + index + `"id":` + id + `,"function":{"name":"` + name + `","arguments":"{}"}}`
	}
	tests := []struct {
		name, give string
		want       []string
		stop       string
	}{
		{"a mark at the beginning", "\ufeff" + delta(`{"content":"hi"}`, end), []string{`"content":"hi"`}, "stop"},
		{"a field of another kind", delta(`{"content":"hi","reasoning":{"a":1},"tool_calls":{}}`, end), []string{`"content":"hi"`}, "stop"},
		{"nulls", delta(`{"content":"hi","reasoning":null,"tool_calls":null,"refusal":null}`, `,"finish_reason":null`) + delta("null", end), []string{`"content":"hi"`}, "stop"},
		{"an id that is a number", delta(`{"tool_calls":[`+call(`"index":0,`, "7", "f")+`]}`, end), []string{`"id":"7"`, `"name":"f"`}, "stop"},
		{
			"one index for all calls", delta(`{"tool_calls":[`+call(`"index":0,`, `"a"`, "f")+`]}`, "") + delta(`{"tool_calls":[`+call(`"index":0,`, `"b"`, "f")+`]}`, end),
			[]string{`"id":"a"`, `"id":"b"`},
			"stop",
		},
		{
			"one index and no ids", delta(`{"tool_calls":[`+call(`"index":0,`, `""`, "f")+`,`+call(`"index":0,`, `null`, "g")+`]}`, end),
			[]string{`"name":"f"`, `"name":"g"`},
			"stop",
		},
		{"a refusal", delta(`{"content":null,"refusal":"I will"}`, "") + delta(`{"refusal":" not"}`, "") + delta("{}", end), []string{`"content":"I will"`, `"content":" not"`}, "refusal"},
		{"a refusal, whole", `{"choices":[{"message":{"content":null,"refusal":"I will not"},"finish_reason":"stop"}]}`, []string{`"content":"I will not"`}, "refusal"},
		{"whole, with a mark", "\ufeff" + `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, []string{`"content":"hi"`}, "stop"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, facts := send(t, "/chat/completions", "text/event-stream", test.give)
			if !facts.Complete || facts.Stop != test.stop || facts.Failure != nil {
				t.Errorf("got %+v", facts)
			}
			for _, want := range test.want {
				if strings.Count(got, want) != 1 {
					t.Errorf("%s is not once in %s", want, got)
				}
			}
		})
	}
}

// TestServerThatDoesNotStream: its whole reply is streamed to the library, and a
// stream that calls itself something else is one all the same.
func TestServerThatDoesNotStream(t *testing.T) {
	t.Parallel()
	whole := `  {"choices":[{"message":{"content":"a","reasoning":"hm","tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1}}`
	got, facts := send(t, "/chat/completions", "text/plain", whole)
	if !facts.Complete || facts.Stop != "tool_calls" || facts.Failure != nil {
		t.Errorf("got %+v", facts)
	}
	for _, want := range []string{`"content":"a"`, `"reasoning_content":"hm"`, `"name":"f"`, `"name":"g"`, `"prompt_tokens":1`} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%s is not once in %s", want, got)
		}
	}
	got, facts = send(t, "/chat/completions", "text/plain", `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`)
	if !facts.Complete || !strings.Contains(got, `"content":"a"`) {
		t.Errorf("got %+v and %s", facts, got)
	}
	if _, facts = send(t, "/messages", "text/plain", `{"content":[]}`); facts.Failure == nil {
		t.Errorf("got %+v", facts)
	}
	got, facts = send(t, "/chat/completions", "application/json", whole)
	if !facts.Complete || !strings.Contains(got, `"reasoning_content":"hm"`) {
		t.Errorf("got %+v and %s", facts, got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	call := &wire.Call{Request: hello}
	req, err := http.NewRequestWithContext(wire.With(t.Context(), call), http.MethodPost, "http://api/model/x/invoke", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer a-long-key")
	resp, err := wire.RoundTrip(tripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusTooManyRequests, Request: r, Header: http.Header{"Retry-After": {"2.5"}},
			Body: io.NopCloser(strings.NewReader("not with a-long-key, friend")),
		}, nil
	}), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if f := call.Facts(); f.RetryAfter != 2500*time.Millisecond || f.Status != 429 {
		t.Errorf("got %+v", f)
	}
	if err != nil || string(text) != "not with [key], friend" {
		t.Errorf("got %q, %v", text, err)
	}
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
		if err != nil || string(got) != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.schema, got, test.want)
		}
	}
}

// FuzzStream: whatever an API streams, the library reads lines of JSON that are
// not too long, and a reply that is not complete is not taken for one.
func FuzzStream(f *testing.F) {
	f.Add(0, `data: {"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n")
	f.Add(1, `data: {"type":"message_start","message":{}}`+"\n"+`data: {"type":"content_block_start","index":-1,"content_block":{"type":"text","text":"a"}}`+"\n"+
		`data: {"type":"content_block_delta","index":-1,"delta":{"type":"text_delta","text":"b"}}`+"\n"+`data: {"type":"content_block_stop","index":-1}`+"\n"+`data: {"type":"message_stop"}`)
	f.Add(2, `[{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f"}}]},"finishReason":1}]},{}]`)
	f.Fuzz(func(t *testing.T, which int, text string) {
		paths := []string{"/chat/completions", "/messages", "/m:streamGenerateContent"}
		path := paths[uint(which)%3]
		got, facts := send(t, path, "text/event-stream", text)
		if facts.Complete && facts.Failure != nil && path != "/chat/completions" {
			t.Errorf("complete, and failed with %+v", facts.Failure)
		}
		if !facts.Understood {
			return // passed as it came, and judged by what the library makes of it
		}
		if strings.HasSuffix(path, "streamGenerateContent") {
			var items []map[string]any
			if err := json.Unmarshal([]byte(got), &items); err != nil || len(items) == 0 {
				t.Errorf("the library would read %q: %v", got, err)
			}
			return
		}
		lines := bufio.NewScanner(strings.NewReader(got)) // as the libraries read it
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			var event map[string]any
			if lines.Text() != "" && (!ok || json.Unmarshal([]byte(data), &event) != nil) {
				t.Errorf("the library would read %q", lines.Text())
			}
			if index, ok := event["index"].(float64); ok && index < 0 {
				t.Errorf("an index of %v makes the library panic", index)
			}
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzSimpleSchema: a schema of any form ends, and is an object.
func FuzzSimpleSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/a"},"c":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if got := wire.SimpleSchema(json.RawMessage(schema)); got == nil || reflect.DeepEqual(got, map[string]any{}) && strings.Contains(schema, `"type":"object"`) {
			t.Errorf("%s: got %v", schema, got)
		}
	})
}
