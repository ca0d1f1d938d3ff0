package kai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic"
)

// roundTrip is a function that implements http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// said returns a reply in Anthropic's stream format: one content block, and the usage.
func said(block, delta, stop, usage string) string {
	var b strings.Builder
	for _, data := range []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude","content":[],"usage":` + usage + `}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + stop + `"},"usage":{"output_tokens":20}}`,
		`{"type":"message_stop"}`,
	} {
		var event struct{ Type string }
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			panic(err)
		}
		b.WriteString("event: " + event.Type + "\ndata: " + data + "\n\n")
	}
	return b.String()
}

// A turn with Claude sends the prompt, the tools and their results to Anthropic's API, and reads the usage from
// the replies.
func TestAnthropic(t *testing.T) {
	t.Parallel()
	replies := []string{
		said(`{"type":"tool_use","id":"toolu_1","name":"search_products","input":{}}`,
			`{"type":"input_json_delta","partial_json":"{\"category\":\"chair\",\"material\":\"oak\",\"max_price\":700,\"limit\":2}"}`, "tool_use", `{"input_tokens":100,"output_tokens":1}`),
		said(`{"type":"text","text":""}`, `{"type":"text_delta","text":"Two chairs."}`, "end_turn", `{"input_tokens":150,"output_tokens":1}`),
	}
	var asked []string
	config, err := providers.Read(func(name string) string { return map[string]string{"ANTHROPIC_API_KEY": "sk-test"}[name] })
	check(t, err)
	config.HTTP = roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("x-api-key") != "sk-test" || !strings.HasSuffix(r.URL.Path, "/v1/messages") {
			t.Errorf("the request is %s %s, %v", r.Method, r.URL, err)
		}
		asked = append(asked, string(body))
		return &http.Response{
			StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(replies[len(asked)-1])),
		}, nil
	})
	model, err := config.Open(t.Context())
	check(t, err)
	r := run(t, sqlitePlace(t).platform(t, model), turn("oak chairs under 700?"))
	if r.Reason != kai.Answered || *r.Response != "Two chairs." || len(r.Products) != 2 || r.InputTokens != 250 || r.OutputTokens != 40 || r.TotalTokens != 290 {
		t.Errorf("got %+v", r)
	}
	if len(asked) != 2 || !strings.Contains(asked[0], "You are Kai") || !strings.Contains(asked[0], `"search_products"`) ||
		!strings.Contains(asked[1], `"tool_result"`) || !strings.Contains(asked[1], "HAL Wood") {
		t.Errorf("asked %q", asked)
	}
}
