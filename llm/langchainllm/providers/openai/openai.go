// Package openai lets package providers open the models of OpenAI, and of servers with the
// same API: Mistral, Ollama, llama.cpp, vLLM and others. Import it for this effect:
//
//	import _ "github.com/weft-go/weft/llm/langchainllm/providers/openai"
package openai

import (
	"context"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm/langchainllm/internal/provider"
)

func init() {
	provider.Register("openai", provider.Opener{
		Model: func(_ context.Context, e provider.Endpoint) (llms.Model, error) { return openai.New(options(e)...) },
		Embedder: func(_ context.Context, e provider.Endpoint) (embeddings.EmbedderClient, error) {
			o := append(options(e), openai.WithEmbeddingModel(e.Model))
			if e.Dimension > 0 {
				o = append(o, openai.WithEmbeddingDimensions(e.Dimension))
			}
			return openai.New(o...)
		},
	})
}

func options(e provider.Endpoint) []openai.Option {
	return []openai.Option{
		openai.WithToken(e.Key), openai.WithModel(e.Model), openai.WithBaseURL(e.BaseURL), openai.WithHTTPClient(e.Client),
	}
}
