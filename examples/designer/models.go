package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/examples/designer/internal/offline"
	"github.com/weft-go/weft/examples/internal/command"
	"github.com/weft-go/weft/examples/internal/models"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/all"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// models returns a function that selects the model of an agent, and a name of the models for people.
// The function selects the model in LLM_MODEL, else the model of the agent's configuration for the
// provider, else the provider's default. Without a provider it selects the offline model.
func (o options) models(ctx context.Context, agents kai.Configs) (func(kai.Config) (llm.Model, error), string, error) {
	config, err := providers.Read(os.Getenv)
	if errors.Is(err, providers.ErrUnset) {
		return func(kai.Config) (llm.Model, error) { return offline.Model{Pace: o.pace}, nil }, models.Offline, nil
	}
	if err != nil {
		return nil, "", command.Wrong("%v", err)
	}
	nameOf := func(c kai.Config) string { return modelOf(c, config, os.Getenv("LLM_MODEL")) }
	opened := map[string]llm.Model{}
	for _, agent := range append(slices.Collect(maps.Values(agents)), kai.Config{}) { // the last is for learning
		this := config
		this.Model = nameOf(agent)
		m, err := this.Open(ctx)
		if err != nil {
			return nil, "", command.Wrong("%v", err)
		}
		opened[this.Model] = llm.Retry(m, llm.RetryPolicy{})
	}
	return func(c kai.Config) (llm.Model, error) { return opened[nameOf(c)], nil }, config.String(), nil
}

// modelOf returns the name of an agent's model.
func modelOf(c kai.Config, provider providers.Config, chosen string) string {
	if own := c.Models[provider.Provider]; own != "" && chosen == "" {
		return own
	}
	return provider.Model
}

// embedder returns the embedder that the environment configures, or nil. Without an embedder, a search finds
// facts by words only.
func embedder(ctx context.Context) (memory.Embedder, error) {
	e, err := providers.EmbedderFromEnv(ctx)
	if errors.Is(err, providers.ErrUnset) {
		return nil, nil
	}
	if err != nil {
		return nil, command.Wrong("%v", err)
	}
	return e, nil
}

// learning returns the options for learning turns: with the model, or with rules for the offline model.
func learning(model llm.Model) extract.Options {
	if _, ok := model.(offline.Model); ok {
		return extract.Options{Extractor: offline.Extractor, Verifier: offline.Verifier}
	}
	return extract.Options{
		Extractor: extract.NewExtractor(model, extract.ExtractorOptions{}), Verifier: extract.NewVerifier(model),
		Decider: extract.NewDecider(model),
	}
}
