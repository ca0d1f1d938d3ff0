package providers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms/googleai"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm/langchainllm"
)

// EmbedderFromEnv opens the model for embeddings that the environment names; see the
// package, [ReadEmbedder] and [Config.OpenEmbedder].
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

// OpenEmbedder opens the model for embeddings. With a Dimension it makes no request.
// Without one it asks for the vector of one short text, as who stores vectors has to know
// how long they are before there are any.
func (c Config) OpenEmbedder(ctx context.Context) (*langchainllm.Embedder, error) {
	client, err := c.embedderClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("providers: open %s: %w", c, err)
	}
	o := langchainllm.EmbedderOptions{Provider: c.Provider, Model: c.Model, Dimension: c.Dimension}
	if o.Dimension == 0 {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		vectors, err := langchainllm.NewEmbedder(client, o).Embed(ctx, []string{"length"})
		if err != nil {
			return nil, fmt.Errorf("providers: open %s: how long are its vectors? EMBEDDING_DIM does not say, and asking for one failed: %w", c, err)
		}
		o.Dimension = len(vectors[0])
	}
	return langchainllm.NewEmbedder(client, o), nil
}

// askTimeout is how long a program may be kept from starting.
const askTimeout = 30 * time.Second

func (c Config) embedderClient(ctx context.Context) (embeddings.EmbedderClient, error) {
	wire := &langchainllm.Transport{Base: c.HTTP}
	key := ""
	if c.key != nil {
		key = *c.key
	}
	switch c.Provider {
	case "googleai":
		to := wire.Client()
		to.Transport = googleKey{key, wire}
		return googleai.New(ctx, googleai.WithRest(), googleai.WithAPIKey(key),
			googleai.WithDefaultEmbeddingModel(c.Model), googleai.WithHTTPClient(to))
	case "openai", "mistral", "ollama", "compatible":
		o := []openai.Option{
			openai.WithToken(key), openai.WithModel(c.Model), openai.WithEmbeddingModel(c.Model),
			openai.WithBaseURL(c.BaseURL), openai.WithHTTPClient(wire.Client()),
		}
		if c.Dimension > 0 && c.Provider == "openai" { // others do not know the field
			o = append(o, openai.WithEmbeddingDimensions(c.Dimension))
		}
		return openai.New(o...)
	}
	return nil, errors.New("it makes no embeddings")
}
