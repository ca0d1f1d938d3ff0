package main

import (
	"testing"

	"github.com/weft-go/weft/examples/designer/internal/kai"
	"github.com/weft-go/weft/llm/langchainllm/providers"
)

// modelOf returns the model of the environment, else of the agent, else of the provider.
func TestModelOf(t *testing.T) {
	t.Parallel()
	agents, err := kai.ReadConfigs(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ provider, agent, chosen, want string }{
		{"anthropic", "kai", "", "claude-sonnet-4-5"},
		{"anthropic", "scout", "", "claude-haiku-4-5"},
		{"anthropic", "scout", "claude-opus-4-1", "claude-opus-4-1"},
		{"mistral", "scout", "", "mistral-small-latest"},
	} {
		config, err := providers.Read(func(name string) string {
			return map[string]string{"LLM_PROVIDER": tt.provider, "LLM_API_KEY": "k", "LLM_MODEL": tt.chosen}[name]
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := modelOf(agents[tt.agent], config, tt.chosen); got != tt.want {
			t.Errorf("%s of %s: got %s, want %s", tt.agent, tt.provider, got, tt.want)
		}
	}
}
