package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all"
)

const secret = "sk-very-secret"

// env returns the environment of a text such as "NAME=value NAME=value".
func env(text string) func(string) string {
	values := map[string]string{}
	for _, pair := range strings.Fields(text) {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

func TestReadSelectsTheModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ env, want string }{
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
	} {
		c, err := providers.Read(env(test.env))
		require.NoError(t, err, test.env)
		assert.Equal(t, test.want, c.String(), test.env)
		_, err = c.Open(t.Context())
		assert.NoError(t, err, test.env)
	}
}

func TestReadNamesTheWrongVariable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ env, want string }{
		{"LLM_PROVIDER=acme", `LLM_PROVIDER is "acme"; it must be one of openai, anthropic`},
		{"LLM_PROVIDER=openai", "neither OPENAI_API_KEY nor LLM_API_KEY is set"},
		{"LLM_PROVIDER=anthropic OPENAI_API_KEY=" + secret, "neither ANTHROPIC_API_KEY nor"},
		{"LLM_PROVIDER=googleai", "neither GOOGLE_API_KEY nor"},
		{"LLM_PROVIDER=mistral", "neither MISTRAL_API_KEY nor"},
		{"LLM_PROVIDER=compatible LLM_MODEL=m", "OPENAI_BASE_URL is not set"},
		{"LLM_PROVIDER=compatible OPENAI_BASE_URL=http://localhost/v1", "LLM_MODEL is not set"},
		{"OPENAI_BASE_URL=http://localhost/v1", "LLM_MODEL is not set"},
		{"OPENAI_API_KEY=" + secret + " ANTHROPIC_API_KEY=" + secret, "OPENAI_API_KEY and ANTHROPIC_API_KEY are set; set LLM_PROVIDER"},
		{"OPENAI_API_KEY=" + secret + " OPENAI_BASE_URL=localhost LLM_MODEL=m", "OPENAI_BASE_URL is not an address"},
		{"OPENAI_BASE_URL=ftp://" + secret + "@a/ LLM_MODEL=m", "OPENAI_BASE_URL is not an address"},
		{"OLLAMA_HOST=ftp://a", "OLLAMA_HOST is not an address"},
		{"LLM_API_KEY=" + secret, "LLM_API_KEY is set, and LLM_PROVIDER is not"},
		{"LLM_MODEL=m", "LLM_MODEL is set, and LLM_PROVIDER is not"},
		{"OPENAI_API_KEY=" + secret + "\u00e9", "OPENAI_API_KEY has a character that no key has"},
		{"", "no provider is set up: set LLM_PROVIDER"},
	} {
		_, err := providers.Read(env(test.env))
		require.ErrorContains(t, err, "providers: "+test.want, test.env)
		assert.NotContains(t, err.Error(), secret)
		assert.Equal(t, test.env == "", errors.Is(err, providers.ErrUnset), test.env)
	}
}

func TestOpenByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, key, want string }{
		{"openai", secret, ""},
		{"openai:gpt-5", secret, ""},
		{"anthropic:claude-sonnet-4-5", secret, ""},
		{"googleai", secret, ""},
		{"mistral", secret, ""},
		{"ollama:llama3.2:3b", "", ""},
		{"openai", "", `provider "openai" needs a key`},
		{"googleai:gemini-3-pro", "", `provider "googleai" needs a key`},
		{"compatible:m", secret, `provider "compatible" needs a BaseURL`},
		{"acme:m", secret, `provider "acme" is unknown; it must be one of openai, anthropic`},
		{"", secret, `provider "" is unknown`},
	} {
		m, err := providers.Open(t.Context(), test.name, test.key)
		if test.want == "" {
			require.NoError(t, err, test.name)
			assert.NotNil(t, m)
			continue
		}
		require.ErrorContains(t, err, test.want, test.name)
		assert.NotContains(t, err.Error(), secret)
	}
}

// TestConfigHasTheDefaultsOfItsProvider proves that an empty Model and BaseURL mean the defaults
// of the provider, except for another server, whose models are unknown.
func TestConfigHasTheDefaultsOfItsProvider(t *testing.T) {
	t.Parallel()
	a := &api{answer: `200 data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"}
	m, err := providers.Config{Provider: "mistral", HTTP: a}.WithKey(secret).Open(t.Context())
	require.NoError(t, err)
	_, err = llm.Generate(t.Context(), m, llm.Request{Messages: []llm.Message{llm.User("hi")}})
	require.NoError(t, err)
	assert.Equal(t, "https://api.mistral.ai/v1/chat/completions", a.heard.URL.String())

	_, err = providers.Config{Provider: "compatible", BaseURL: "http://localhost/v1"}.Open(t.Context())
	require.ErrorContains(t, err, "needs a Model")
	_, err = providers.Config{Provider: "compatible", BaseURL: "http://localhost/v1", Model: "m"}.Open(t.Context())
	require.NoError(t, err, "without a key")
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	c, err := providers.Read(env("OPENAI_API_KEY=" + secret))
	require.NoError(t, err)
	m, err := c.Open(t.Context())
	require.NoError(t, err)
	type app struct {
		config providers.Config
		model  *langchainllm.Model
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%q"} {
		for _, v := range []any{c, &c, m, *m, app{c, m}, &app{c, m}, []providers.Config{c}, c.WithKey(secret)} {
			assert.NotContains(t, fmt.Sprintf(format, v), secret, "%s of %T", format, v)
		}
	}
	got, err := json.Marshal(app{c, m}.config)
	require.NoError(t, err)
	assert.NotContains(t, string(got), secret)
}

// api answers the requests to every provider, and records the last one.
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

func TestModelsSpeakToTheirProviders(t *testing.T) {
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
			require.NoError(t, err)
			a := &api{answer: test.answer}
			c.HTTP = a
			m, err := c.Open(t.Context())
			require.NoError(t, err)
			request := llm.Request{Messages: []llm.Message{llm.User("hi")}}
			reply, err := llm.Generate(t.Context(), m, request)
			require.NoError(t, err)
			assert.Equal(t, "hello", reply.Text())
			sent := a.heard.URL
			sent.RawQuery = ""
			assert.Equal(t, test.url, sent.String())
			assert.True(t, strings.HasSuffix(a.heard.Header.Get(test.header), secret), "the key")

			a.answer = `401 {"error":{"message":"Incorrect API key provided: ` + secret + `"}}`
			_, err = llm.Generate(t.Context(), m, request)
			require.ErrorIs(t, err, llm.ErrAuth)
			e, ok := errors.AsType[*llm.Error](err)
			require.True(t, ok)
			assert.Equal(t, c.Provider, e.Provider)
			assert.NotContains(t, fmt.Sprintf("%v %+v", err, *e), secret)
		})
	}
}

// TestOnlyImportersLinkProviders proves that a program links the code of a provider only if
// it imports the package of that provider.
func TestOnlyImportersLinkProviders(t *testing.T) {
	t.Parallel()
	const root = "github.com/weft-go/weft/llm/langchainllm"
	for _, test := range []struct {
		path string
		apis []string // the packages of langchaingo that open models
	}{
		{root, nil},
		{root + "/providers", nil},
		{root + "/providers/openai", []string{"openai"}},
		{root + "/providers/anthropic", []string{"anthropic"}},
		{root + "/providers/googleai", []string{"googleai"}},
		{root + "/providers/all", []string{"anthropic", "googleai", "openai"}},
		{"github.com/weft-go/weft/examples/quickstart", nil},
		{"github.com/weft-go/weft/examples/quickstart/withmodel", []string{"anthropic", "openai"}},
	} {
		t.Run(test.path, func(t *testing.T) {
			t.Parallel()
			list := dependencies(t, test.path)
			t.Logf("%d packages", len(list))
			var apis []string
			for _, path := range list {
				api, ok := strings.CutPrefix(path, "github.com/tmc/langchaingo/llms/")
				if ok && !strings.Contains(api, "/") {
					apis = append(apis, api)
				}
				if !slices.Contains(test.apis, "googleai") {
					assert.NotContains(t, path, "google.golang.org/")
				}
				assert.NotContains(t, path, "aws")
			}
			slices.Sort(apis)
			assert.Equal(t, test.apis, apis)
		})
	}
	// A module that imports the adapter needs the dependencies of its tests in go.sum.
	for _, path := range dependencies(t, "-test", root) {
		assert.NotContains(t, path, "google.golang.org/", "move the test to internal/contract")
		assert.NotContains(t, path, "aws", "move the test to internal/contract")
	}
}

// dependencies returns the packages on which a package depends, with the package itself.
func dependencies(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return strings.Fields(string(out))
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

func ExampleOpen() {
	model, err := providers.Open(context.Background(), "ollama:qwen3", "")
	if err != nil {
		panic(err)
	}
	fmt.Printf("%T\n", model)

	_, err = providers.Open(context.Background(), "anthropic", "")
	fmt.Println(err)
	// Output:
	// *langchainllm.Model
	// providers: provider "anthropic" needs a key
}

func ExampleConfig_WithKey() {
	c := providers.Config{Provider: "compatible", BaseURL: "https://models.example.com/v1", Model: "qwen3"}.WithKey("secret")
	if _, err := c.Open(context.Background()); err != nil {
		panic(err)
	}
	fmt.Println(c)
	// Output:
	// compatible qwen3 at https://models.example.com/v1
}

func ExampleFromEnv() {
	model, err := providers.FromEnv(context.Background())
	if errors.Is(err, providers.ErrUnset) {
		fmt.Println("the environment selects no provider")
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
