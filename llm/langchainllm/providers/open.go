package providers

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/googleai"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm/langchainllm"
)

// FromEnv opens the model that the environment names; see the package and
// [Read]. It makes no request: a key that is wrong shows at the first.
func FromEnv(ctx context.Context) (*langchainllm.Model, error) {
	c, err := Read(os.Getenv)
	if err != nil {
		return nil, err
	}
	return c.Open(ctx)
}

// Open opens the model. It makes no request.
func (c Config) Open(ctx context.Context) (*langchainllm.Model, error) {
	wire := &langchainllm.Transport{Base: c.HTTP}
	o := langchainllm.Options{Name: c.Provider, Transport: wire}
	key := ""
	if c.key != nil {
		key = *c.key
	}
	var model llms.Model
	var err error
	switch c.Provider {
	case "anthropic":
		o.Provider = langchainllm.Anthropic
		model, err = anthropic.New(anthropic.WithToken(key), anthropic.WithModel(c.Model), anthropic.WithHTTPClient(wire.Client()))
	case "googleai":
		o.Provider = langchainllm.GoogleAI
		client := wire.Client()
		client.Transport = googleKey{key, wire}
		model, err = googleai.New(ctx, googleai.WithRest(), googleai.WithAPIKey(key),
			googleai.WithDefaultModel(c.Model), googleai.WithHTTPClient(client))
	case "openai", "mistral", "ollama", "compatible":
		o.Provider = c.kind()
		model, err = openai.New(openai.WithToken(key), openai.WithModel(c.Model),
			openai.WithBaseURL(c.BaseURL), openai.WithHTTPClient(wire.Client()))
	default:
		return nil, fmt.Errorf("providers: provider %.40q is none of %s", c.Provider, names())
	}
	if err != nil {
		return nil, fmt.Errorf("providers: open %s: %w", c, err)
	}
	return langchainllm.New(model, o), nil
}

// kind says who speaks OpenAI's form.
func (c Config) kind() langchainllm.Provider {
	switch {
	case c.Provider == "mistral":
		return langchainllm.MistralAPI
	case c.elsewhere():
		return langchainllm.Compatible
	}
	return langchainllm.OpenAI
}

// googleHost is the only one that is shown Google's key.
const googleHost = "generativelanguage.googleapis.com"

// googleKey adds the key, which Google's client leaves to a client that it is
// given.
type googleKey struct {
	key  string
	base http.RoundTripper
}

func (g googleKey) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == googleHost {
		req = req.Clone(req.Context())
		req.Header.Set("X-Goog-Api-Key", g.key)
	}
	return g.base.RoundTrip(req)
}
