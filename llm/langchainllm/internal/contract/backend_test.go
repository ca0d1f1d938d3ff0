package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/bedrock"
	"github.com/tmc/langchaingo/llms/googleai"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm/langchainllm"
)

// A backend is a provider of langchaingo and the wire format of its API.
type backend struct {
	name     string
	provider langchainllm.Provider
	wires    bool // a Transport knows what it speaks
	open     func(t *testing.T, url string, client *http.Client) llms.Model
	say      func(said) http.HandlerFunc
	read     func(asked) sent
}

// said is a reply, independent of the wire format.
type said struct {
	texts           []string
	calls           []saidCall
	reasoning       string
	stop            string // end, calls, length, filter
	in, out, cached int
	interleaved     bool // the arguments of the calls are streamed side by side
}

type saidCall struct{ id, name, arguments string }

func (s said) text() string { return strings.Join(s.texts, "") }

// sent is a request, independent of the wire format.
type sent struct {
	System string
	Turns  []turn
	Tools  []string
	Choice string
}

type turn struct {
	Role  string
	Parts []string
}

func say(texts ...string) said {
	return said{texts: texts, stop: "end", in: 10, out: 4, cached: 3}
}

func (s said) calling(calls ...saidCall) said {
	s.calls, s.stop = calls, "calls"
	return s
}

var backends = []backend{
	{name: "openai", provider: langchainllm.OpenAI, wires: true, open: openOpenAI, say: sayOpenAI, read: readOpenAI},
	{name: "ollama", provider: langchainllm.Compatible, wires: true, open: openOpenAI, say: sayOpenAI, read: readOpenAI},
	{name: "mistral", provider: langchainllm.MistralAPI, wires: true, open: openOpenAI, say: sayOpenAI, read: readOpenAI},
	{name: "anthropic", provider: langchainllm.Anthropic, wires: true, open: openAnthropic, say: sayAnthropic, read: readAnthropic},
	{name: "googleai", provider: langchainllm.GoogleAI, wires: true, open: openGoogle, say: sayGoogle, read: readGoogle},
	{name: "bedrock", provider: langchainllm.Bedrock, open: openBedrock, say: sayBedrock, read: readAnthropic},
}

// each runs a test on every provider. The providers that a Transport knows have one.
func each(t *testing.T, test func(t *testing.T, b backend)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// backendOf returns the backend with a name.
func backendOf(name string) backend {
	return backends[slices.IndexFunc(backends, func(b backend) bool { return b.name == name })]
}

// model opens a backend on a fake.
func (b backend) model(t *testing.T, f *fake) *langchainllm.Model {
	t.Helper()
	client := &http.Client{Transport: toServer{f.URL, http.DefaultTransport}}
	if b.wires {
		client = (&langchainllm.Transport{Base: client.Transport}).Client()
	}
	return langchainllm.New(b.open(t, f.URL, client), langchainllm.Options{Provider: b.provider, Name: b.name})
}

func (b backend) bare(t *testing.T, f *fake) llms.Model {
	t.Helper()
	return b.open(t, f.URL, &http.Client{Transport: toServer{f.URL, http.DefaultTransport}})
}

// toServer sends every request to a server.
type toServer struct {
	url  string
	base http.RoundTripper
}

func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	to, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = to.Scheme, to.Host
	return s.base.RoundTrip(r)
}

func streams(r *http.Request) bool {
	var body struct{ Stream bool }
	return json.NewDecoder(r.Body).Decode(&body) == nil && body.Stream
}

// --- OpenAI

func openOpenAI(t *testing.T, url string, client *http.Client) llms.Model {
	t.Helper()
	m, err := openai.New(openai.WithToken("key-of-the-test"), openai.WithModel("gpt-4o"), openai.WithBaseURL(url), openai.WithHTTPClient(client))
	require.NoError(t, err)
	return m
}

func sayOpenAI(s said) http.HandlerFunc {
	stop := map[string]string{"end": "stop", "calls": "tool_calls", "length": "length", "filter": "content_filter"}[s.stop]
	usage := object{
		"prompt_tokens": s.in, "completion_tokens": s.out, "total_tokens": s.in + s.out,
		"prompt_tokens_details": object{"cached_tokens": s.cached},
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if streams(r) {
			sse(openAIEvents(s, stop, usage)...)(w, r)
			return
		}
		message := object{"role": "assistant", "content": s.text()}
		if s.reasoning != "" {
			message["reasoning_content"] = s.reasoning
		}
		for _, c := range s.calls {
			list, _ := message["tool_calls"].([]object)
			message["tool_calls"] = append(list, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments}})
		}
		jsonBody(toJSON(object{"choices": []object{{"index": 0, "message": message, "finish_reason": stop}}, "usage": usage}))(w, r)
	}
}

func openAIEvents(s said, stop string, usage object) []string {
	delta := func(d object) string { return toJSON(object{"choices": []object{{"index": 0, "delta": d}}}) }
	piece := func(i int, d object) string {
		d["index"] = i
		return delta(object{"tool_calls": []object{d}})
	}
	events := []string{delta(object{"role": "assistant", "content": ""})}
	if s.reasoning != "" {
		events = append(events, delta(object{"reasoning_content": s.reasoning}))
	}
	for _, text := range s.texts {
		events = append(events, delta(object{"content": text}))
	}
	var later []string
	for i, c := range s.calls {
		half := len(c.arguments) / 2
		events = append(events, piece(i, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": ""}}))
		first, second := piece(i, object{"function": object{"arguments": c.arguments[:half]}}), piece(i, object{"function": object{"arguments": c.arguments[half:]}})
		if s.interleaved {
			events = append(events, first)
			later = append(later, second)
			continue
		}
		events = append(events, first, second)
	}
	events = append(events, later...)
	return append(events,
		toJSON(object{"choices": []object{{"index": 0, "delta": object{}, "finish_reason": stop}}}),
		toJSON(object{"choices": []object{}, "usage": usage}), "[DONE]")
}

func readOpenAI(a asked) sent {
	var s sent
	for _, m := range list(a.body["messages"]) {
		tn := turn{Role: str(m["role"])}
		texts := list(m["content"])
		if text, ok := m["content"].(string); ok && text != "" {
			texts = []object{{"type": "text", "text": text}}
		}
		for _, part := range texts {
			switch part["type"] {
			case "text":
				tn.Parts = append(tn.Parts, str(part["text"]))
			case "image_url":
				tn.Parts = append(tn.Parts, "image:"+str(part["image_url"].(object)["url"]))
			default:
				tn.Parts = append(tn.Parts, "UNKNOWN "+toJSON(part))
			}
		}
		for _, c := range list(m["tool_calls"]) {
			f := c["function"].(object)
			tn.Parts = append(tn.Parts, fmt.Sprintf("call:%s:%s%s", c["id"], f["name"], f["arguments"]))
		}
		switch tn.Role {
		case "system":
			s.System += strings.Join(tn.Parts, "|")
			continue
		case "tool":
			tn.Parts = []string{fmt.Sprintf("result:%s:%s", m["tool_call_id"], strings.Join(tn.Parts, "|"))}
		}
		s.Turns = append(s.Turns, tn)
	}
	for _, tool := range list(a.body["tools"]) {
		s.Tools = append(s.Tools, str(tool["function"].(object)["name"]))
	}
	if c := a.body["tool_choice"]; c != nil {
		s.Choice = toJSON(c)
	}
	return s
}

func list(v any) []object {
	items, _ := v.([]any)
	var out []object
	for _, item := range items {
		o, _ := item.(object)
		out = append(out, o)
	}
	return out
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

// --- Anthropic

func openAnthropic(t *testing.T, url string, client *http.Client) llms.Model {
	t.Helper()
	m, err := anthropic.New(anthropic.WithToken("key-of-the-test"), anthropic.WithModel("claude-sonnet-4-5"), anthropic.WithBaseURL(url), anthropic.WithHTTPClient(client))
	require.NoError(t, err)
	return m
}

// blocks returns the content of a reply of the Messages API.
func blocks(s said) []object {
	var out []object
	if s.reasoning != "" {
		out = append(out, object{"type": "thinking", "thinking": s.reasoning, "signature": "SIGNED"})
	}
	if text := s.text(); text != "" {
		out = append(out, object{"type": "text", "text": text})
	}
	for _, c := range s.calls {
		out = append(out, object{"type": "tool_use", "id": c.id, "name": c.name, "input": json.RawMessage(c.arguments)})
	}
	return out
}

func anthropicStop(s said) string {
	return map[string]string{"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "filter": "refusal"}[s.stop]
}

func anthropicReply(s said) object {
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "content": blocks(s), "stop_reason": anthropicStop(s),
		"usage": object{"input_tokens": s.in - s.cached, "output_tokens": s.out, "cache_read_input_tokens": s.cached},
	}
}

func sayAnthropic(s said) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if streams(r) {
			sse(anthropicEvents(s)...)(w, r)
			return
		}
		jsonBody(toJSON(anthropicReply(s)))(w, r)
	}
}

func anthropicEvents(s said) []string {
	events := []string{toJSON(object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "content": []any{},
		"usage": object{"input_tokens": s.in - s.cached, "output_tokens": 1, "cache_read_input_tokens": s.cached},
	}}), `{"type":"ping"}`}
	index := 0
	block := func(start object, deltas ...object) {
		events = append(events, toJSON(object{"type": "content_block_start", "index": index, "content_block": start}))
		for _, d := range deltas {
			events = append(events, toJSON(object{"type": "content_block_delta", "index": index, "delta": d}))
		}
		events = append(events, toJSON(object{"type": "content_block_stop", "index": index}))
		index++
	}
	if s.reasoning != "" {
		block(object{"type": "thinking", "thinking": ""},
			object{"type": "thinking_delta", "thinking": s.reasoning}, object{"type": "signature_delta", "signature": "SIGNED"})
	}
	if len(s.texts) > 0 {
		var deltas []object
		for _, text := range s.texts {
			deltas = append(deltas, object{"type": "text_delta", "text": text})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	for _, c := range s.calls {
		half := len(c.arguments) / 2
		block(object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": c.arguments[:half]}, object{"type": "input_json_delta", "partial_json": c.arguments[half:]})
	}
	return append(events,
		toJSON(object{"type": "message_delta", "delta": object{"stop_reason": anthropicStop(s)}, "usage": object{"output_tokens": s.out}}),
		`{"type":"message_stop"}`)
}

func readAnthropic(a asked) sent {
	s := sent{System: str(a.body["system"])}
	for _, m := range list(a.body["messages"]) {
		tn := turn{Role: str(m["role"])}
		for _, block := range list(m["content"]) {
			var part string
			switch block["type"] {
			case "text":
				part = str(block["text"])
			case "image":
				source := block["source"].(object)
				part = fmt.Sprintf("image:data:%s;base64,%s", source["media_type"], source["data"])
			case "tool_use":
				part = fmt.Sprintf("call:%s:%s%s", block["id"], block["name"], toJSON(block["input"]))
			case "tool_result":
				part = fmt.Sprintf("result:%s:%s", block["tool_use_id"], block["content"])
				if block["is_error"] == true {
					part += "!"
				}
			default:
				part = toJSON(block)
			}
			// Join adjacent messages of one role, as the API does.
			if n := len(s.Turns); n > 0 && s.Turns[n-1].Role == tn.Role && len(tn.Parts) == 0 {
				s.Turns[n-1].Parts = append(s.Turns[n-1].Parts, part)
				continue
			}
			tn.Parts = append(tn.Parts, part)
		}
		if len(tn.Parts) > 0 {
			s.Turns = append(s.Turns, tn)
		}
	}
	for _, tool := range list(a.body["tools"]) {
		s.Tools = append(s.Tools, str(tool["name"]))
	}
	if c := a.body["tool_choice"]; c != nil {
		s.Choice = toJSON(c)
	}
	return s
}

// --- Gemini

func openGoogle(t *testing.T, _ string, client *http.Client) llms.Model {
	t.Helper()
	client = &http.Client{Transport: withKey{client.Transport}}
	m, err := googleai.New(t.Context(), googleai.WithAPIKey("key-of-the-test"), googleai.WithRest(), googleai.WithDefaultModel("gemini-2.5-flash"), googleai.WithHTTPClient(client))
	require.NoError(t, err)
	return m
}

// withKey adds the key. Google's client does not add it if the program sets the HTTP client.
type withKey struct{ base http.RoundTripper }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Goog-Api-Key", "key-of-the-test")
	return k.base.RoundTrip(r)
}

func googlePiece(parts []object, stop int, usage object) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if stop > 0 {
		candidate["finishReason"] = stop // the library asks for numbers
	}
	return object{"candidates": []object{candidate}, "usageMetadata": usage}
}

func sayGoogle(s said) http.HandlerFunc {
	stop := map[string]int{"end": 1, "calls": 1, "length": 2, "filter": 3}[s.stop]
	usage := object{"promptTokenCount": s.in, "candidatesTokenCount": s.out, "totalTokenCount": s.in + s.out, "cachedContentTokenCount": s.cached}
	var ends []object
	for _, c := range s.calls {
		ends = append(ends, object{"functionCall": object{"name": c.name, "args": json.RawMessage(c.arguments)}})
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ":streamGenerateContent") {
			parts := ends
			if s.text() != "" {
				parts = append([]object{{"text": s.text()}}, ends...)
			}
			jsonBody(toJSON(googlePiece(parts, stop, usage)))(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		write(w, "[")
		for _, text := range s.texts {
			so := object{"promptTokenCount": s.in, "candidatesTokenCount": 1, "totalTokenCount": s.in + 1, "cachedContentTokenCount": s.cached}
			write(w, toJSON(googlePiece([]object{{"text": text}}, 0, so))+"\n,\r\n")
		}
		write(w, toJSON(googlePiece(append(ends, object{"text": ""}), stop, usage))+"]")
	}
}

func readGoogle(a asked) sent {
	var s sent
	if system, ok := a.body["systemInstruction"].(object); ok {
		for _, part := range list(system["parts"]) {
			s.System += str(part["text"])
		}
	}
	for _, c := range list(a.body["contents"]) {
		tn := turn{Role: str(c["role"])}
		for _, part := range list(c["parts"]) {
			switch {
			case part["inlineData"] != nil:
				data := part["inlineData"].(object)
				tn.Parts = append(tn.Parts, fmt.Sprintf("image:data:%s;base64,%s", data["mimeType"], data["data"]))
			case part["functionCall"] != nil:
				f := part["functionCall"].(object)
				text := fmt.Sprintf("call::%s%s", f["name"], toJSON(f["args"]))
				if signature := str(part["thoughtSignature"]); signature != "" {
					text += "#" + signature
				}
				tn.Parts = append(tn.Parts, text)
			case part["functionResponse"] != nil:
				f := part["functionResponse"].(object)
				tn.Parts = append(tn.Parts, fmt.Sprintf("result:%s:%s", f["name"], toJSON(f["response"])))
			default:
				tn.Parts = append(tn.Parts, str(part["text"]))
			}
		}
		s.Turns = append(s.Turns, tn)
	}
	for _, tool := range list(a.body["tools"]) {
		for _, f := range list(tool["functionDeclarations"]) {
			s.Tools = append(s.Tools, str(f["name"]))
		}
	}
	if c := a.body["toolConfig"]; c != nil {
		s.Choice = toJSON(c)
	}
	return s
}

// --- Bedrock

func openBedrock(t *testing.T, url string, client *http.Client) llms.Model {
	t.Helper()
	m, err := bedrock.New(bedrock.WithModel("anthropic.claude-sonnet-4-5"), bedrock.WithClient(bedrockruntime.New(bedrockruntime.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(url), HTTPClient: client, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})))
	require.NoError(t, err)
	return m
}

func sayBedrock(s said) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "invoke-with-response-stream") {
			jsonBody(toJSON(anthropicReply(s)))(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		encoder := eventstream.NewEncoder()
		for _, event := range anthropicEvents(s) {
			if err := encoder.Encode(w, bedrockEvent(event)); err != nil {
				return // the client has left
			}
		}
	}
}

func bedrockEvent(event string) eventstream.Message {
	var headers eventstream.Headers
	headers.Set(":message-type", eventstream.StringValue("event"))
	headers.Set(":event-type", eventstream.StringValue("chunk"))
	headers.Set(":content-type", eventstream.StringValue("application/json"))
	return eventstream.Message{Headers: headers, Payload: []byte(toJSON(object{"bytes": []byte(event)}))}
}
