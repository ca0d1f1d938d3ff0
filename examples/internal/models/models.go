// Package models opens the model that an example speaks to.
package models

import (
	"context"
	"errors"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all" // opens every provider
)

// Offline is how examples call their offline models.
const Offline = "offline: rules, no key, no network"

// Open opens the model that the environment names, as package providers reads it, and returns
// what it is called. Calls of it that fail for a while are made again. Where the environment names none, it is the
// offline model.
func Open(ctx context.Context, getenv func(string) string, offline llm.Model) (llm.Model, string, error) {
	config, err := providers.Read(getenv)
	if errors.Is(err, providers.ErrUnset) {
		return offline, Offline, nil
	}
	if err != nil {
		return nil, "", err
	}
	opened, err := config.Open(ctx)
	if err != nil {
		return nil, "", err
	}
	return llm.Retry(opened, llm.RetryPolicy{}), config.String(), nil
}
