// Package model opens a language model for the quickstart. It links the APIs of OpenAI and
// Anthropic, and so takes longer to compile than the rest. Import another package of
// llm/langchainllm/providers, such as providers/googleai, to add its provider.
package model

import (
	"context"
	"os"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/anthropic" // opens anthropic
	_ "github.com/weft-go/weft/llm/langchainllm/providers/openai"    // opens openai, mistral, ollama and compatible
)

// FromEnv opens the model that the environment names, and returns a description. If the
// environment names none, the error is [providers.ErrUnset].
func FromEnv(ctx context.Context) (llm.Model, string, error) {
	config, err := providers.Read(os.Getenv)
	if err != nil {
		return nil, "", err
	}
	opened, err := config.Open(ctx)
	if err != nil {
		return nil, "", err
	}
	return llm.Retry(opened, llm.RetryPolicy{}), config.String(), nil
}
