package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
)

const secret = "sk-very-secret"

// env is an environment: "NAME=value NAME=value".
func env(text string) func(string) string {
	values := map[string]string{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

func TestRead(t *testing.T) {
	t.Parallel()
	tests := []struct{ env, want string }{
		{"OPENAI_API_KEY=k", "openai gpt-5-mini at https://api.openai.com/v1"},
		{"OPENAI_API_KEY=k LLM_MODEL=m", "openai m at https://api.openai.com/v1"},
		{"OPENAI_API_KEY=k OPENAI_BASE_URL=http://localhost:8080/v1/ LLM_MODEL=m", "openai m at http://localhost:8080/v1"},
		{"OPENAI_BASE_URL=http://localhost:8080/v1 LLM_MODEL=m", "openai m at http://localhost:8080/v1"},
		{"OPENAI_BASE_URL=https://user:" + secret + "@host/v1 LLM_MODEL=m", "openai m at https://user:xxxxx@host/v1"},
		{"LLM_PROVIDER=compatible OPENAI_BASE_URL=http://localhost/v1 LLM_MODEL=m", "compatible m at http://localhost/v1"},
		{"ANTHROPIC_API_KEY=k", "anthropic claude-sonnet-4-5"},
		{"LLM_PROVIDER=Anthropic LLM_API_KEY=k OPENAI_API_KEY=other", "anthropic claude-sonnet-4-5"},
		{"GOOGLE_API_KEY=k", "googleai gemini-2.5-flash"},
		{"LLM_PROVIDER=googleai LLM_API_KEY=k LLM_MODEL=gemini-3-pro", "googleai gemini-3-pro"},
		{"LLM_PROVIDER=mistral LLM_API_KEY=k", "mistral mistral-small-latest at https://api.mistral.ai/v1"},
		{"LLM_PROVIDER=ollama", "ollama llama3.2 at http://127.0.0.1:11434/v1"},
		{"OLLAMA_HOST=0.0.0.0", "ollama llama3.2 at http://127.0.0.1:11434/v1"},
		{"OLLAMA_HOST=gpu:1234 LLM_MODEL=qwen3", "ollama qwen3 at http://gpu:1234/v1"},
		{"OLLAMA_HOST=https://gpu/v1/", "ollama llama3.2 at https://gpu:443/v1"},
		{"OLLAMA_HOST=[::1]:9", "ollama llama3.2 at http://[::1]:9/v1"},
	}
	for _, test := range tests {
		c, err := providers.Read(env(test.env))
		if err != nil || c.String() != test.want {
			t.Errorf("%s: got %q, %v; want %q", test.env, c, err, test.want)
		}
		if _, err := c.Open(t.Context()); err != nil {
			t.Errorf("%s: open: %v", test.env, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ env, want string }{
		{"LLM_PROVIDER=acme", `LLM_PROVIDER is "acme"`},
		{"LLM_PROVIDER=openai", "OPENAI_API_KEY is not set, nor is LLM_API_KEY"},
		{"LLM_PROVIDER=anthropic OPENAI_API_KEY=" + secret, "ANTHROPIC_API_KEY is not set"},
		{"LLM_PROVIDER=googleai", "GOOGLE_API_KEY is not set"},
		{"LLM_PROVIDER=mistral", "MISTRAL_API_KEY is not set"},
		{"LLM_PROVIDER=compatible LLM_MODEL=m", "OPENAI_BASE_URL is not set"},
		{"LLM_PROVIDER=compatible OPENAI_BASE_URL=http://localhost/v1", "LLM_MODEL is not set"},
		{"OPENAI_BASE_URL=http://localhost/v1", "LLM_MODEL is not set"},
		{"OPENAI_API_KEY=" + secret + " ANTHROPIC_API_KEY=" + secret, "OPENAI_API_KEY and ANTHROPIC_API_KEY are set, and LLM_PROVIDER does not say"},
		{"OPENAI_API_KEY=" + secret + " OPENAI_BASE_URL=localhost LLM_MODEL=m", "OPENAI_BASE_URL is not an address"},
		{"OPENAI_BASE_URL=ftp://" + secret + "@a/ LLM_MODEL=m", "OPENAI_BASE_URL is not an address"},
		{"OLLAMA_HOST=ftp://a", "OLLAMA_HOST is not an address"},
		{"LLM_API_KEY=" + secret, "LLM_API_KEY is set, and LLM_PROVIDER is not"},
		{"LLM_MODEL=m", "LLM_MODEL is set, and LLM_PROVIDER is not"},
		{"OPENAI_API_KEY=" + secret + "\u00e9", "OPENAI_API_KEY holds what no key can"},
		{"", "no provider is set up: set LLM_PROVIDER"},
	}
	for _, test := range tests {
		_, err := providers.Read(env(test.env))
		if err == nil || !strings.HasPrefix(err.Error(), "providers: "+test.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, want %q", test.env, err, test.want)
		}
		if errors.Is(err, providers.ErrUnset) != (test.env == "") {
			t.Errorf("%s: got %v", test.env, err)
		}
	}
	if _, err := (providers.Config{Provider: "acme"}).Open(t.Context()); err == nil {
		t.Error("opened acme")
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	c, err := providers.Read(env("OPENAI_API_KEY=" + secret))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type app struct {
		config providers.Config
		model  *langchainllm.Model
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%q"} {
		for _, v := range []any{c, &c, m, *m, app{c, m}, &app{c, m}, []providers.Config{c}} {
			if got := fmt.Sprintf(format, v); strings.Contains(got, secret) {
				t.Errorf("%s of %T printed %s", format, v, got)
			}
		}
	}
	if got, err := json.Marshal(app{c, m}.config); err != nil || strings.Contains(string(got), secret) {
		t.Errorf("as JSON: %s, %v", got, err)
	}
}

// api answers for every provider, and hears what it is sent.
type api struct {
	answer string
	heard  *http.Request
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	a.heard = r
	if r.Body != nil {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
	}
	code, answer, ok := strings.Cut(a.answer, " ")
	status := map[bool]int{true: http.StatusUnauthorized, false: http.StatusOK}[ok && code == "401"]
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(answer)),
	}, nil
}

func TestOpen(t *testing.T) {
	t.Parallel()
	openAI := `200 data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	tests := []struct{ env, answer, url, header string }{
		{"OPENAI_API_KEY=" + secret, openAI, "https://api.openai.com/v1/chat/completions", "Authorization"},
		{"MISTRAL_API_KEY=" + secret, openAI, "https://api.mistral.ai/v1/chat/completions", "Authorization"},
		{"OLLAMA_HOST=gpu LLM_API_KEY=" + secret, openAI, "http://gpu:11434/v1/chat/completions", "Authorization"},
		{"ANTHROPIC_API_KEY=" + secret, `200 data: {"type":"message_start","message":{}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hello"}}

data: {"type":"message_stop"}
`, "https://api.anthropic.com/v1/messages", "X-Api-Key"},
		{
			"GOOGLE_API_KEY=" + secret, `200 [{"candidates":[{"content":{"parts":[{"text":"hello"}]},"finishReason":1}]}]`,
			"https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent", "X-Goog-Api-Key",
		},
	}
	for _, test := range tests {
		t.Run(test.env, func(t *testing.T) {
			t.Parallel()
			c, err := providers.Read(env(test.env))
			if err != nil {
				t.Fatal(err)
			}
			a := &api{answer: test.answer}
			c.HTTP = a
			m, err := c.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			request := llm.Request{Messages: []llm.Message{llm.User("hi")}}
			reply, err := llm.Generate(t.Context(), m, request)
			if err != nil || reply.Text() != "hello" {
				t.Errorf("got %q, %v", reply.Text(), err)
			}
			sent := a.heard.URL
			sent.RawQuery = ""
			if sent.String() != test.url || !strings.HasSuffix(a.heard.Header.Get(test.header), secret) {
				t.Errorf("asked %s with %s %q", sent, test.header, a.heard.Header.Get(test.header))
			}

			a.answer = `401 {"error":{"message":"Incorrect API key provided: ` + secret + `"}}`
			_, err = llm.Generate(t.Context(), m, request)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || !errors.Is(err, llm.ErrAuth) || e.Provider != c.Provider || strings.Contains(fmt.Sprintf("%v %+v", err, *e), secret) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOnlyImportersLinkProviders: the adapter compiles no provider.
func TestOnlyImportersLinkProviders(t *testing.T) {
	t.Parallel()
	deps := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	adapter := deps("github.com/weft-go/weft/llm/langchainllm")
	for line := range strings.Lines(adapter) {
		line = strings.TrimSpace(line)
		ours := strings.HasPrefix(line, "github.com/tmc/langchaingo/")
		if ours && line != "github.com/tmc/langchaingo/llms" && line != "github.com/tmc/langchaingo/embeddings" && !strings.Contains(line, "/internal/") {
			t.Errorf("the adapter compiles %s", line)
		}
		if strings.Contains(line, "google.golang.org/") || strings.Contains(line, "aws") {
			t.Errorf("the adapter compiles %s", line)
		}
	}
	// The go.sum of who imports the adapter has lines for its tests too.
	if tests := deps("-test", "github.com/weft-go/weft/llm/langchainllm"); strings.Contains(tests, "google.golang.org/") || strings.Contains(tests, "aws") {
		t.Error("the adapter's tests compile providers with many modules: their place is internal/contract")
	}
	if all := deps("github.com/weft-go/weft/llm/langchainllm/providers"); !strings.Contains(all, "langchaingo/llms/googleai") || strings.Contains(all, "bedrock") {
		t.Error("this package does not compile what it opens, or more")
	}
}

func ExampleRead() {
	getenv := func(name string) string {
		return map[string]string{"LLM_PROVIDER": "ollama", "LLM_MODEL": "qwen3"}[name]
	}
	c, err := providers.Read(getenv)
	fmt.Println(c, err)

	_, err = providers.Read(func(string) string { return "" })
	fmt.Println(err)
	// Output:
	// ollama qwen3 at http://127.0.0.1:11434/v1 <nil>
	// providers: no provider is set up: set LLM_PROVIDER, or the key of a provider such as OPENAI_API_KEY
}

func ExampleFromEnv() {
	model, err := providers.FromEnv(context.Background())
	if errors.Is(err, providers.ErrUnset) {
		fmt.Println("no key is set, so this is all that there is to see")
		return
	}
	if err != nil {
		panic(err)
	}
	reply, err := llm.Generate(context.Background(), model, llm.Request{Messages: []llm.Message{llm.User("Say hello.")}})
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text())
}
