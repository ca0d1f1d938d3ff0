// Package models opens the model of an example.
package models

import (
	"context"
	"errors"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all" // opens every provider
)

// Offline is the description of the offline models of the examples.
const Offline = "offline: rules, no key, no network"

// Open opens the model that the environment names, as package providers reads it, and returns the
// model and its description. The model retries calls that fail temporarily. If the environment
// names no model, Open returns offline.
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
