package openai_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/langchainllm/providers"
	_ "github.com/weft-go/weft/llm/langchainllm/providers/openai"
)

// TestOtherProvidersAreNotLinked proves that a program that imports this package can open its
// models, and that the error for any other provider names the missing import.
func TestOtherProvidersAreNotLinked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai", "mistral", "ollama"} {
		_, err := providers.Open(t.Context(), name, "key")
		require.NoError(t, err, name)
	}
	for _, name := range []string{"anthropic", "googleai"} {
		_, err := providers.Open(t.Context(), name, "key")
		require.ErrorIs(t, err, providers.ErrNotLinked)
		assert.ErrorContains(t, err, `import _ "github.com/weft-go/weft/llm/langchainllm/providers/`+name+`"`)
	}
}
