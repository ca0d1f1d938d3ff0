package providers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms/googleai"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm/langchainllm"
)

// EmbedderFromEnv opens the model for embeddings that the environment names; see the
// package and [ReadEmbedder]. It makes no request.
func EmbedderFromEnv(ctx context.Context) (*langchainllm.Embedder, error) {
	c, err := ReadEmbedder(os.Getenv)
	if err != nil {
		return nil, err
	}
	return c.OpenEmbedder(ctx)
}

// ReadEmbedder is [Read] for embeddings. It returns [ErrUnset] if EMBEDDING_MODEL is
// not set: there is no default, as stored vectors are of one model.
func ReadEmbedder(getenv func(string) string) (Config, error) {
	e := environment(getenv)
	c, err := e.embedder()
	if err != nil {
		return Config{}, fmt.Errorf("providers: embeddings: %w", err)
	}
	return c, nil
}

func (e environment) embedder() (Config, error) {
	model, provider := e.get("EMBEDDING_MODEL"), e.get("EMBEDDING_PROVIDER")
	if model == "" {
		if provider != "" {
			return Config{}, errors.New("EMBEDDING_PROVIDER is set, and EMBEDDING_MODEL is not")
		}
		return Config{}, fmt.Errorf("%w: set EMBEDDING_MODEL", ErrUnset)
	}
	who := environment(func(name string) string {
		if name == "LLM_PROVIDER" && provider != "" {
			return provider
		}
		return e(name)
	})
	if _, err := who.source(); errors.Is(err, ErrUnset) {
		return Config{}, fmt.Errorf("EMBEDDING_MODEL is set, and EMBEDDING_PROVIDER is not: it is one of %s", names())
	}
	c, err := environment(func(name string) string {
		if name == "LLM_MODEL" {
			return model
		}
		return who(name)
	}).read()
	if err != nil {
		return Config{}, err
	}
	if c.Provider == "anthropic" {
		return Config{}, errors.New("anthropic makes no embeddings: EMBEDDING_PROVIDER says who does")
	}
	if text := e.get("EMBEDDING_DIM"); text != "" {
		if c.Dimension, err = strconv.Atoi(text); err != nil || c.Dimension < 1 {
			return Config{}, fmt.Errorf("EMBEDDING_DIM is %.20q, which is no length of a vector", text)
		}
	}
	return c, nil
}

// OpenEmbedder opens the model for embeddings. It makes no request.
func (c Config) OpenEmbedder(ctx context.Context) (*langchainllm.Embedder, error) {
	wire := &langchainllm.Transport{Base: c.HTTP}
	key := ""
	if c.key != nil {
		key = *c.key
	}
	var client embeddings.EmbedderClient
	var err error
	switch c.Provider {
	case "googleai":
		to := wire.Client()
		to.Transport = googleKey{key, wire}
		client, err = googleai.New(ctx, googleai.WithRest(), googleai.WithAPIKey(key),
			googleai.WithDefaultEmbeddingModel(c.Model), googleai.WithHTTPClient(to))
	case "openai", "mistral", "ollama", "compatible":
		o := []openai.Option{
			openai.WithToken(key), openai.WithModel(c.Model), openai.WithEmbeddingModel(c.Model),
			openai.WithBaseURL(c.BaseURL), openai.WithHTTPClient(wire.Client()),
		}
		if c.Dimension > 0 && c.Provider == "openai" { // others do not know the field
			o = append(o, openai.WithEmbeddingDimensions(c.Dimension))
		}
		client, err = openai.New(o...)
	default:
		return nil, fmt.Errorf("providers: provider %.40q makes no embeddings", c.Provider)
	}
	if err != nil {
		return nil, fmt.Errorf("providers: open %s: %w", c, err)
	}
	return langchainllm.NewEmbedder(client, langchainllm.EmbedderOptions{Provider: c.Provider, Model: c.Model, Dimension: c.Dimension}), nil
}
