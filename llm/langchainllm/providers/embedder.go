package providers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/weft-go/weft/llm/langchainllm"
)

// EmbedderFromEnv opens the model for embeddings that the environment selects; see the
// package, [ReadEmbedder] and [Config.OpenEmbedder].
func EmbedderFromEnv(ctx context.Context) (*langchainllm.Embedder, error) {
	c, err := ReadEmbedder(os.Getenv)
	if err != nil {
		return nil, err
	}
	return c.OpenEmbedder(ctx)
}

// ReadEmbedder is [Read] for embeddings. It returns [ErrUnset] if EMBEDDING_MODEL is
// not set. There is no default model, because vectors of different models cannot be compared.
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
	selected := environment(func(name string) string {
		if name == "LLM_PROVIDER" && provider != "" {
			return provider
		}
		return e(name)
	})
	if _, err := selected.source(); errors.Is(err, ErrUnset) {
		return Config{}, fmt.Errorf("EMBEDDING_MODEL is set, and EMBEDDING_PROVIDER is not; it must be one of %s", names())
	}
	c, err := environment(func(name string) string {
		if name == "LLM_MODEL" {
			return model
		}
		return selected(name)
	}).read()
	if err != nil {
		return Config{}, err
	}
	if c.Provider == "anthropic" {
		return Config{}, errors.New("anthropic has no embeddings; set EMBEDDING_PROVIDER to another provider")
	}
	if text := e.get("EMBEDDING_DIM"); text != "" {
		if c.Dimension, err = strconv.Atoi(text); err != nil || c.Dimension < 1 {
			return Config{}, fmt.Errorf("EMBEDDING_DIM is %.20q; it must be a positive number", text)
		}
	}
	return c, nil
}

// OpenEmbedder opens the model for embeddings. With a Dimension it makes no request.
// Without one it requests the vector of one short text, because a store of vectors must know
// their length in advance.
func (c Config) OpenEmbedder(ctx context.Context) (*langchainllm.Embedder, error) {
	if c.Model == "" {
		return nil, errors.New("providers: embeddings: Config.Model is empty; a model for embeddings has no default")
	}
	c, opener, err := c.complete()
	if err != nil {
		return nil, fmt.Errorf("providers: embeddings: %w", err)
	}
	if opener.Embedder == nil {
		return nil, fmt.Errorf("providers: %s has no embeddings", c.Provider)
	}
	client, err := opener.Embedder(ctx, c.endpoint(&langchainllm.Transport{Base: c.HTTP}))
	if err != nil {
		return nil, fmt.Errorf("providers: open %s: %w", c, err)
	}
	o := langchainllm.EmbedderOptions{Provider: c.Provider, Model: c.Model, Dimension: c.Dimension}
	if o.Dimension == 0 {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		vectors, err := langchainllm.NewEmbedder(client, o).Embed(ctx, []string{"length"})
		if err != nil {
			return nil, fmt.Errorf("providers: open %s: the request for one vector, to measure it, failed; with EMBEDDING_DIM no request is needed: %w", c, err)
		}
		o.Dimension = len(vectors[0])
	}
	return langchainllm.NewEmbedder(client, o), nil
}

// askTimeout limits the request that measures a vector, since it delays the start of a program.
const askTimeout = 30 * time.Second
