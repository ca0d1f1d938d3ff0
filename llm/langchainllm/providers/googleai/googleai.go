// Package googleai lets package providers open the Gemini models of Google. Import it for
// this effect:
//
//	import _ "github.com/weft-go/weft/llm/langchainllm/providers/googleai"
//
// It makes a program some 15 MB larger.
package googleai

import (
	"context"
	"net/http"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/googleai"

	"github.com/weft-go/weft/llm/langchainllm/internal/provider"
)

func init() {
	provider.Register("googleai", provider.Opener{
		Model: func(ctx context.Context, e provider.Endpoint) (llms.Model, error) {
			return googleai.New(ctx, append(options(e), googleai.WithDefaultModel(e.Model))...)
		},
		Embedder: func(ctx context.Context, e provider.Endpoint) (embeddings.EmbedderClient, error) {
			return googleai.New(ctx, append(options(e), googleai.WithDefaultEmbeddingModel(e.Model))...)
		},
	})
}

func options(e provider.Endpoint) []googleai.Option {
	client := *e.Client
	client.Transport = keyTransport{e.Key, e.Client.Transport}
	return []googleai.Option{googleai.WithRest(), googleai.WithAPIKey(e.Key), googleai.WithHTTPClient(&client)}
}

// apiHost is the only host to which a keyTransport sends the key.
const apiHost = "generativelanguage.googleapis.com"

// A keyTransport adds the key to requests. Google's client does not add it when the program
// sets the HTTP client.
type keyTransport struct {
	key  string
	base http.RoundTripper
}

func (t keyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == apiHost {
		req = req.Clone(req.Context())
		req.Header.Set("X-Goog-Api-Key", t.key)
	}
	return t.base.RoundTrip(req)
}
